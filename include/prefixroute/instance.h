// SPDX-License-Identifier: Apache-2.0
//
// An inference instance and its load, as the caller gives them to the router.

#ifndef PREFIXROUTE_INSTANCE_H_
#define PREFIXROUTE_INSTANCE_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace prefixroute {

inline constexpr size_t kMaxInstanceIdBytes = 255;
inline constexpr uint32_t kMaxInstances = 65'536;
inline constexpr double kMinWeight = 1e-3;
inline constexpr double kMaxWeight = 1e6;
// The most requests that a router counts for one instance.
inline constexpr uint32_t kMaxOutstanding = (uint32_t{1} << 20) - 1;
// The memory of prefixes: 64 bytes an entry. A prompt of 32 KiB has 24 entries, one of 1 MiB 40; a prefix that many
// prompts share has its entries once.
inline constexpr uint32_t kMinPrefixEntries = 1'024;
inline constexpr uint32_t kDefaultPrefixEntries = 65'536;
inline constexpr uint32_t kMaxPrefixEntries = uint32_t{1} << 26;
// "No instance", wherever an index of one is asked for.
inline constexpr uint32_t kNoInstance = UINT32_MAX;

// One replica of an inference engine.
struct Instance {
  // The stable name of the instance, any 1 to kMaxInstanceIdBytes bytes; its address will do. A prefix's home
  // follows from ids and weights alone, so gateways that use the same agree, whatever the order they list them in.
  std::string id;
  // Capacity relative to the other instances: 0, or kMinWeight to kMaxWeight. Not speed: an idle instance of small
  // weight gets requests too, in proportion. One of weight 0 gets no new ones.
  double weight = 1.0;
  // The hard bound on outstanding requests: 1 to kMaxOutstanding, or 0 for none.
  uint32_t max_outstanding = 0;
};

// The live load of one instance, where the caller keeps count (Router::Route).
struct Load {
  // Requests sent to the instance and not finished, from anybody. UINT32_MAX counts as full.
  uint32_t outstanding = 0;
  // Bytes of their prompts that are still to be prefilled: the sum of Decision::uncached_bytes of those whose first
  // token has not come. PREFIX_AWARE balances by it; where it isn't known, 0 for all will do.
  uint64_t pending_bytes = 0;
};

// What an engine says of itself (Router::ReportLoad): vLLM's num_requests_running and num_requests_waiting, say.
struct EngineLoad {
  // Requests that it has, running and waiting, from anybody.
  uint32_t outstanding = 0;
  // Of those, the ones whose prompt it has not prefilled; 0 where it doesn't say, and never more than there are.
  uint32_t waiting = 0;
};

}  // namespace prefixroute

#endif  // PREFIXROUTE_INSTANCE_H_
