// SPDX-License-Identifier: Apache-2.0
//
// The instances: the router that chooses among them, and what the gateway knows of each. Thread-safe.

#ifndef PREFIXROUTE_EXAMPLES_GATEWAY_FLEET_H_
#define PREFIXROUTE_EXAMPLES_GATEWAY_FLEET_H_

#include <prometheus/counter.h>
#include <prometheus/histogram.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config.h"
#include "net.h"
#include "prefixroute/router.h"

namespace gateway {

// One instance at one address. Lives as long as a request to it, also when the config has dropped it.
class Backend {
 public:
  Backend(std::string id, Address address);

  const std::string& id() const { return id_; }
  const Address& address() const { return address_; }
  // As in a Host header.
  const std::string& authority() const { return authority_; }

  // Whether it is given by a name.
  bool named() const { return named_; }
  // Where it is, as last resolved, first where it last took a connection; empty: not yet.
  std::vector<tcp::endpoint> endpoints() const;
  // Others than before: it may have been restarted.
  void SetEndpoints(std::vector<tcp::endpoint> endpoints);
  void PutFirst(const tcp::endpoint& endpoint);
  // Whether it has answered, ever.
  bool seen() const { return seen_; }

  // Seconds from a request's last byte to its first token.
  prometheus::Histogram first_token;
  prometheus::Counter failures;

 private:
  friend class Fleet;
  // It refused a connection, or moved. One that was never there has no cache to lose.
  void NoteRestart();

  using Clock = std::chrono::steady_clock;
  const std::string id_;
  const Address address_;
  const std::string authority_;
  bool named_ = true;
  mutable std::mutex mutex_;
  std::vector<tcp::endpoint> endpoints_;

  // When it told its load; none: nothing that counts.
  std::atomic<Clock::time_point> reported_ = Clock::time_point();
  std::atomic<uint32_t> failed_requests_ = 0;  // In a row.
  std::atomic<uint32_t> failed_checks_ = 0;    // In a row.
  std::atomic<bool> seen_ = false;
  std::atomic<bool> may_be_restarted_ = false;
  std::atomic<double> started_ = 0;  // When its process started, as it says itself.
  bool draining_ = false;            // By the config. This and the next under Fleet::change_.
  bool failing_;                     // At first, where its name must be resolved.
};

class Fleet {
 public:
  // The config and the instances at one time.
  struct Snapshot {
    Config config;
    std::vector<std::shared_ptr<Backend>> backends;
    // Also those that the config before had: the router may have chosen one a moment ago.
    std::map<std::string, std::shared_ptr<Backend>, std::less<>> by_id;
  };

  static absl::StatusOr<std::unique_ptr<Fleet>> Create(const Config& config);

  // Changes everything that can change while the gateway runs, or nothing.
  absl::Status Apply(const Config& config);

  std::shared_ptr<const Snapshot> snapshot() const;
  prefixroute::Router& router() const { return *router_; }

  // What requests and checks have seen, of instances that the config still has at that address. `refused`: no
  // process was there to take the connection, as when it is restarted; a network that is away is none of that. A
  // request that fails where it was taken is to count only if another instance has served it: it might fail everywhere.
  // The last instance that is left drains by checks alone.
  void RequestSucceeded(Backend& backend);
  void RequestFailed(Backend& backend, bool refused);
  void CheckSucceeded(Backend& backend);
  void CheckFailed(Backend& backend, bool refused);
  void ReportStart(Backend& backend, double seconds);
  // Counts if the config still takes loads from there.
  void ReportLoad(Backend& backend, LoadSource source, const prefixroute::EngineLoad& load);
  // Takes back what instances said longer ago: one that said it was busy, and so gets no requests, says nothing more.
  void ForgetLoadsOlderThan(std::chrono::milliseconds age);

 private:
  explicit Fleet(std::unique_ptr<prefixroute::Router> router) : router_(std::move(router)) {}
  enum class By { kRequests, kChecks };
  void SetFailing(Backend& backend, bool failing, By by);
  bool IsLast(const Backend& backend) const;
  bool IsCurrent(const Backend& backend) const;
  void Restarted(const Backend& backend);

  const std::unique_ptr<prefixroute::Router> router_;
  std::mutex change_;  // Held for changes of the fleet and of who drains.
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> snapshot_;
};

}  // namespace gateway

#endif  // PREFIXROUTE_EXAMPLES_GATEWAY_FLEET_H_
