// SPDX-License-Identifier: Apache-2.0
//
// Asks the instances, every few seconds, whether they are well and how busy they are, and resolves their names.

#ifndef PREFIXROUTE_EXAMPLES_GATEWAY_POLLER_H_
#define PREFIXROUTE_EXAMPLES_GATEWAY_POLLER_H_

#include <map>
#include <memory>
#include <string>

#include "fleet.h"
#include "net.h"

namespace gateway {

class Poller {
 public:
  // Both must outlive what runs in the context.
  Poller(asio::io_context& context, Fleet& fleet) : context_(context), fleet_(fleet) {}

  void Start();
  // Asks all of them now, and at the config's intervals from now on. From the context's thread.
  void Wake();
  // A name is being resolved, for which the context's end waits: as long as a name server takes.
  bool resolving() const { return resolving_ > 0; }

 private:
  using Job = Awaitable<void> (Poller::*)(Backend&, const Config&);
  // Marks that expire with the job: it may come to its end, fail to start, or be given up by Asio, which says nothing.
  using Running = std::map<const Backend*, std::weak_ptr<void>>;

  struct Answer {
    error_code error;
    unsigned status = 0;
    std::string body;
  };

  Awaitable<void> PollHealth();
  Awaitable<void> PollLoad();
  Awaitable<void> CheckHealth(Backend& backend, const Config& config);
  Awaitable<void> AskLoad(Backend& backend, const Config& config);
  // Has the backend checked, too, where that had to wait for an address.
  Awaitable<void> Resolve(Backend& backend, const Config& config);
  Awaitable<Answer> Get(Backend& backend, std::string_view path, std::chrono::milliseconds timeout);
  Awaitable<void> Sleep(asio::steady_timer& timer, std::chrono::milliseconds time);  // Or until Wake().
  // Starts the job for each instance, unless the same job for it still runs. What it refers to lives until it has
  // ended.
  void ForEach(Job job, Running& running);

  asio::io_context& context_;
  Fleet& fleet_;
  asio::steady_timer health_timer_{context_};
  asio::steady_timer load_timer_{context_};
  int resolving_ = 0;
  Running resolved_;
  Running checked_;
  Running asked_;
};

}  // namespace gateway

#endif  // PREFIXROUTE_EXAMPLES_GATEWAY_POLLER_H_
