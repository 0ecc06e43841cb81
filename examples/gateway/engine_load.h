// SPDX-License-Identifier: Apache-2.0
//
// What engines say of their load, in their own forms.

#ifndef PREFIXROUTE_EXAMPLES_GATEWAY_ENGINE_LOAD_H_
#define PREFIXROUTE_EXAMPLES_GATEWAY_ENGINE_LOAD_H_

#include <optional>
#include <string_view>

#include "prefixroute/instance.h"

namespace gateway {

struct EngineMetrics {
  std::optional<prefixroute::EngineLoad> load;
  std::optional<double> process_start_seconds;
};

// From the Prometheus text of vLLM, SGLang or llama.cpp's server; values of several label sets are added up.
EngineMetrics ParseEngineMetrics(std::string_view text);

// From the header endpoint-load-metrics in its form TEXT or JSON. vLLM tells how many requests wait there, and not how
// many run.
std::optional<prefixroute::EngineLoad> ParseOrca(std::string_view header);

}  // namespace gateway

#endif  // PREFIXROUTE_EXAMPLES_GATEWAY_ENGINE_LOAD_H_
