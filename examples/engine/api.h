// SPDX-License-Identifier: Apache-2.0
//
// What a request says, and what an answer looks like, in OpenAI's two forms and Anthropic's.

#ifndef PREFIXROUTE_EXAMPLES_ENGINE_API_H_
#define PREFIXROUTE_EXAMPLES_ENGINE_API_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler.h"

namespace engine {

enum class Api { kCompletions, kChatCompletions, kMessages };

struct Call {
  Api api = Api::kCompletions;
  std::string id;  // Of the answer.
  std::string model;
  std::string prompt;  // Tools, system and messages in the order in which an engine puts them.
  uint32_t max_tokens = 16;
  bool stream = false;
  bool include_usage = false;  // In a stream of OpenAI's forms; else it is always there.
};

// InvalidArgument names the field. `id` must be another for each request.
absl::StatusOr<Call> ParseCall(Api api, std::string_view body, uint64_t id);

// The whole answer.
std::string Answer(const Call& call, const Sequence& sequence);

// The events of a stream: those of the tokens from `sent` on, and, where the answer is done, what ends it.
std::string Events(const Call& call, const Sequence& sequence, uint32_t sent);

// The body of an answer that says why there is none.
std::string ErrorBody(Api api, const absl::Status& why);

std::string ModelList(std::string_view model);

}  // namespace engine

#endif  // PREFIXROUTE_EXAMPLES_ENGINE_API_H_
