// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/scale_event.h"

#include <set>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"

namespace prefixroute::replay {

absl::StatusOr<ScaleEvent> ParseScaleEvent(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  ScaleEvent event;
  absl::Duration at;
  bool good = parts.size() >= 2 && absl::ParseDuration(parts[0], &at) && at >= absl::ZeroDuration() &&
              at <= absl::Hours(24 * 365);
  if (good && parts[1] == "add") {
    good = parts.size() == 2;
  } else if (good) {
    event.kind = parts[1] == "remove" ? ScaleEvent::Kind::kRemove : ScaleEvent::Kind::kRestart;
    good = (parts[1] == "remove" || parts[1] == "restart") && parts.size() == 3 &&
           absl::SimpleAtoi(parts[2], &event.instance);
  }
  if (!good) {
    return absl::InvalidArgumentError(
        absl::StrFormat("\"%s\" is none of 300s:add, 300s:remove:INSTANCE, 300s:restart:INSTANCE", text));
  }
  event.at_us = absl::ToInt64Microseconds(at);
  return event;
}

std::string ScaleEventText(const ScaleEvent& event) {
  const std::string at = absl::FormatDuration(absl::Microseconds(event.at_us));
  switch (event.kind) {
    case ScaleEvent::Kind::kAdd:
      return at + ":add";
    case ScaleEvent::Kind::kRemove:
      return absl::StrFormat("%s:remove:%d", at, event.instance);
    case ScaleEvent::Kind::kRestart:
      break;
  }
  return absl::StrFormat("%s:restart:%d", at, event.instance);
}

absl::Status CheckScaleEvents(absl::Span<const ScaleEvent> events, uint32_t instances) {
  std::set<uint32_t> there;
  for (uint32_t i = 0; i < instances; ++i) there.insert(i);
  uint32_t next = instances;
  for (const ScaleEvent& event : events) {
    if (event.kind == ScaleEvent::Kind::kAdd) {
      there.insert(next++);
      continue;
    }
    if (there.count(event.instance) == 0) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s: there is no instance %d then", ScaleEventText(event), event.instance));
    }
    if (event.kind == ScaleEvent::Kind::kRemove) there.erase(event.instance);
    if (there.empty()) {
      return absl::InvalidArgumentError(absl::StrFormat("%s: leaves no instance", ScaleEventText(event)));
    }
  }
  return absl::OkStatus();
}

}  // namespace prefixroute::replay
