// SPDX-License-Identifier: Apache-2.0
//
// A change of the fleet in mid-run.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_SCALE_EVENT_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_SCALE_EVENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace prefixroute::replay {

struct ScaleEvent {
  enum class Kind {
    kAdd,      // A new instance, with the next number.
    kRemove,   // Takes no new requests; what it has it serves.
    kRestart,  // Loses its cache and its requests, and is back at once.
  };
  int64_t at_us = 0;
  Kind kind = Kind::kAdd;
  uint32_t instance = 0;  // Not of kAdd.
};

// From "300s:add", "5m:remove:3", "300s:restart:2". InvalidArgument where it is none.
absl::StatusOr<ScaleEvent> ParseScaleEvent(const std::string& text);

// As ParseScaleEvent() reads it.
std::string ScaleEventText(const ScaleEvent& event);

// InvalidArgument, unless each event names an instance that is there at its time, of `instances` numbered from 0 at
// the start and those added since, and one is always left.
absl::Status CheckScaleEvents(absl::Span<const ScaleEvent> events, uint32_t instances);

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_SCALE_EVENT_H_
