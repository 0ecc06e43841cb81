// SPDX-License-Identifier: Apache-2.0
//
// A client's connection: reads its requests one after the other, and passes each on to an instance, and the answer
// back.

#ifndef PREFIXROUTE_EXAMPLES_GATEWAY_SESSION_H_
#define PREFIXROUTE_EXAMPLES_GATEWAY_SESSION_H_

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "answers.h"
#include "fleet.h"
#include "net.h"
#include "prefixroute/router.h"
#include "upstream.h"

namespace gateway {

class Worker;

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Worker& worker, tcp::socket socket, bool admin);
  ~Session();

  void Start();
  void CloseIfIdle();  // Between requests.
  void Abort();

 private:
  using Clock = std::chrono::steady_clock;
  using Request = http::request<http::string_body>;
  using Parser = http::request_parser<http::string_body>;

  // A request on its way through an instance.
  struct Passage {
    Request& request;
    Clock::time_point complete;  // When its body had come.
    std::shared_ptr<const Fleet::Snapshot> snapshot;
    bool repeatable;  // It does no harm when more than one instance begins to work on it.
    prefixroute::Lease lease;
    std::shared_ptr<Backend> backend;
    std::vector<std::shared_ptr<Backend>> suspects;  // They took it and failed, for its fault or their own.
  };
  enum class Outcome { kAnswered, kClientLost, kFailed, kFailedForGood, kTimedOut, kBroken };

  Awaitable<void> Run();
  // Whether there is a request to answer. Where there is none, the client has been told why, if that makes sense.
  Awaitable<bool> ReadRequest(Parser& parser);
  // To the end of the header, or of the whole request. The parser throws where memory runs out: not in Asio's or
  // Beast's own hands, which could not go on.
  Awaitable<error_code> Read(Parser& parser, bool whole);
  Awaitable<void> Refuse(http::status status, std::string_view message);
  Awaitable<void> Answer(Request& request);
  Awaitable<void> Forward(Request& request);
  Awaitable<Outcome> Try(Passage& passage);
  Awaitable<Outcome> Relay(Passage& passage, std::string_view piece);
  // Whether the client has taken it.
  template <typename Buffers>
  Awaitable<bool> Write(const Buffers& buffers);

  std::string LocalAnswer(std::string_view path);
  std::string AnswerHeadFor(const Passage& passage, bool chunked) const;

  // From Watch() to Unwatch(), closes what goes to the instance as soon as the client is gone.
  void Watch();
  void Unwatch();
  void ClientLost();

  Worker& worker_;
  beast::tcp_stream stream_;
  const bool admin_;
  std::string address_;                         // The client's.
  beast::flat_buffer buffer_{kMaxHeaderBytes};  // Also of a chunk's extensions, and of trailers, there may be no more.
  std::shared_ptr<const Fleet::Snapshot> snapshot_;  // As it was when the request came.
  Manner manner_;
  std::unique_ptr<Upstream> upstream_;
  bool idle_ = true;
  bool lost_ = false;
  uint64_t watches_ = 0;
};

}  // namespace gateway

#endif  // PREFIXROUTE_EXAMPLES_GATEWAY_SESSION_H_
