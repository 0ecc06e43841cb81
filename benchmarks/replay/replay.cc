// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/replay.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/replay/lru_cache.h"
#include "benchmarks/replay/split_mix.h"

namespace prefixroute::replay {
namespace {

// Random bits that are set: the router draws its own in place of 0.
uint64_t NextRequestRandom(SplitMix& random) {
  uint64_t bits;
  do {
    bits = random.Next();
  } while (bits == 0);
  return bits;
}

// The leases of running requests, by the time at which each ends.
class RunningRequests {
 public:
  void Add(int64_t end_us, Lease lease) {
    running_.push_back({end_us, std::move(lease)});
    std::push_heap(running_.begin(), running_.end(), EndsLater);
  }

  void FinishUntil(int64_t now_us) {
    while (!running_.empty() && running_.front().end_us <= now_us) {
      std::pop_heap(running_.begin(), running_.end(), EndsLater);
      running_.pop_back();
    }
  }

  size_t size() const { return running_.size(); }

 private:
  struct Running {
    int64_t end_us;
    Lease lease;
  };
  static bool EndsLater(const Running& a, const Running& b) { return a.end_us > b.end_us; }

  std::vector<Running> running_;
};

}  // namespace

absl::StatusOr<ReplayResult> Replay(const Trace& trace, const ReplayOptions& options, std::string_view task,
                                    Progress* progress) {
  std::vector<Instance> instances(options.instances);
  for (uint32_t i = 0; i < options.instances; ++i) {
    instances[i].id = absl::StrCat("instance-", i);
    instances[i].max_outstanding = options.max_outstanding;
  }
  RouterOptions router_options = options.router;
  router_options.max_instances = options.instances;
  absl::StatusOr<std::unique_ptr<Router>> router = Router::Create(router_options, instances);
  if (!router.ok()) return router.status();

  const uint64_t cache_blocks = options.cache_tokens == 0 ? UINT64_MAX : options.cache_tokens / trace.block_tokens;
  std::vector<LruCache> caches;
  caches.reserve(options.instances);
  for (uint32_t i = 0; i < options.instances; ++i) caches.emplace_back(cache_blocks);
  RunningRequests running;
  SplitMix random(options.seed);
  std::string prefix_buffer;
  std::chrono::steady_clock::duration acquire_time{};
  ReplayResult result;
  result.requests_by_instance.resize(options.instances);
  uint64_t sent = 0;
  for (const TraceRequest& traced : trace.requests) {
    progress->Update(task, sent++, trace.requests.size());
    const auto now_us = static_cast<int64_t>(static_cast<double>(traced.arrival_us) / options.speed);
    running.FinishUntil(now_us);
    result.outstanding_seen += running.size();

    Request request;
    request.prefix = trace.Prefix(traced, router_options.max_prefix_bytes, &prefix_buffer);
    request.random = NextRequestRandom(random);
    const auto start = std::chrono::steady_clock::now();
    absl::StatusOr<Lease> lease = (*router)->Acquire(request);
    acquire_time += std::chrono::steady_clock::now() - start;
    if (absl::IsResourceExhausted(lease.status())) {
      ++result.refused;
      continue;
    }
    if (!lease.ok()) return lease.status();

    const Decision& decision = lease->decision();
    ++result.served;
    ++result.requests_by_instance[decision.instance];
    if (decision.reason == Reason::kDivertedByLoad || decision.reason == Reason::kDivertedUnavailable) {
      ++result.diverted;
    }
    LruCache& cache = caches[decision.instance];
    const absl::Span<const BlockId> blocks = trace.FullBlocks(traced);
    const uint64_t hit_tokens = cache.LeadingHits(blocks) * trace.block_tokens;
    cache.Use(blocks);
    result.input_tokens += traced.input_tokens;
    result.hit_tokens += hit_tokens;
    const uint64_t service_us = (traced.input_tokens - hit_tokens) * options.prefill_us_per_token +
                                uint64_t{traced.output_tokens} * options.decode_us_per_token;
    running.Add(now_us + static_cast<int64_t>(service_us), *std::move(lease));
  }
  result.acquire_seconds = std::chrono::duration<double>(acquire_time).count();
  return result;
}

uint64_t OneCacheHitTokens(const Trace& trace) {
  LruCache cache;
  uint64_t hits = 0;
  for (const TraceRequest& request : trace.requests) {
    const absl::Span<const BlockId> blocks = trace.FullBlocks(request);
    hits += cache.LeadingHits(blocks);
    cache.Use(blocks);
  }
  return hits * trace.block_tokens;
}

}  // namespace prefixroute::replay
