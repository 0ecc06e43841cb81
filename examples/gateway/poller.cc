// SPDX-License-Identifier: Apache-2.0

#include "poller.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "engine_load.h"
#include "guard.h"
#include "upstream.h"

namespace gateway {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxBodyBytes = 4 << 20;
constexpr int kOldLoadIntervals = 5;

}  // namespace

void Poller::Start() {
  SpawnAgain(context_, [this] { return PollHealth(); });
  SpawnAgain(context_, [this] { return PollLoad(); });
}

void Poller::Wake() {
  // Also those that are being asked.
  checked_.clear();
  asked_.clear();
  health_timer_.cancel();
  load_timer_.cancel();
}

Awaitable<void> Poller::PollHealth() {
  for (;;) {
    ForEach(&Poller::Resolve, resolved_);
    ForEach(&Poller::CheckHealth, checked_);
    co_await Sleep(health_timer_, fleet_.snapshot()->config.health.interval);
  }
}

Awaitable<void> Poller::PollLoad() {
  for (;;) {
    const auto snapshot = fleet_.snapshot();
    const auto& load = snapshot->config.load;
    if (load.source == LoadSource::kMetrics) ForEach(&Poller::AskLoad, asked_);
    if (load.source == LoadSource::kOrca) fleet_.ForgetLoadsOlderThan(load.interval * kOldLoadIntervals);
    co_await Sleep(load_timer_, load.interval);
  }
}

Awaitable<void> Poller::Sleep(asio::steady_timer& timer, std::chrono::milliseconds time) {
  error_code woken;
  timer.expires_after(time);
  co_await timer.async_wait(Into(woken));
}

void Poller::ForEach(Job job, Running& running) {
  std::erase_if(running, [](const auto& each) { return each.second.expired(); });
  const auto snapshot = fleet_.snapshot();
  for (const std::shared_ptr<Backend>& backend : snapshot->backends) {
    std::weak_ptr<void>& mark = running[backend.get()];
    if (!mark.expired()) continue;
    const auto runs = std::make_shared<char>();
    mark = runs;
    asio::co_spawn(context_, (this->*job)(*backend, snapshot->config),
                   [runs, backend, snapshot](const std::exception_ptr& exception) {
                     if (exception != nullptr) LogException(exception);
                   });
  }
}

Awaitable<void> Poller::CheckHealth(Backend& backend, const Config& config) {
  if (backend.endpoints().empty()) co_return;
  Answer answer = co_await Get(backend, config.health.path, config.health.timeout);
  if (!answer.error && answer.status < 400) {
    fleet_.CheckSucceeded(backend);
  } else if (!IsOurs(answer.error) || !backend.seen()) {
    fleet_.CheckFailed(backend, answer.error == asio::error::connection_refused);
  }
}

Awaitable<void> Poller::AskLoad(Backend& backend, const Config& config) {
  const Answer answer = co_await Get(backend, config.load.path, config.health.timeout);
  if (IsOurs(answer.error)) co_return;
  EngineMetrics metrics;
  if (!answer.error && answer.status == 200) metrics = ParseEngineMetrics(answer.body);
  // Of one that says nothing we know nothing, and what it said before is old.
  fleet_.ReportLoad(backend, LoadSource::kMetrics, metrics.load.value_or(prefixroute::EngineLoad()));
  if (metrics.process_start_seconds) fleet_.ReportStart(backend, *metrics.process_start_seconds);
}

Awaitable<void> Poller::Resolve(Backend& backend, const Config& config) {
  if (!backend.named()) co_return;
  error_code error;
  tcp::resolver resolver(context_);
  ++resolving_;
  const auto results =
      co_await resolver.async_resolve(backend.address().host, std::to_string(backend.address().port), Into(error));
  --resolving_;
  if (error) co_return;
  std::vector<tcp::endpoint> endpoints;
  for (const auto& result : results) endpoints.push_back(result.endpoint());
  const bool first = backend.endpoints().empty();
  backend.SetEndpoints(std::move(endpoints));
  if (first) {
    co_await CheckHealth(backend, config);
  }
}

Awaitable<Poller::Answer> Poller::Get(Backend& backend, std::string_view path, std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  Answer answer;
  Upstream upstream(context_);
  answer.error = co_await upstream.Connect(backend, deadline);
  if (answer.error || path.empty()) co_return answer;
  const std::string head = absl::StrFormat("GET %s HTTP/1.1\r\nHost: %s\r\nAccept: */*\r\nConnection: close\r\n\r\n",
                                           path, backend.authority());
  answer.error = co_await upstream.Exchange(head, "", false, deadline);
  if (answer.error) co_return answer;
  answer.status = upstream.answer().result_int();
  do {
    answer.body += co_await upstream.ReadPiece(answer.error, deadline);
  } while (!answer.error && !upstream.done() && answer.body.size() < kMaxBodyBytes);
  co_return answer;
}

}  // namespace gateway
