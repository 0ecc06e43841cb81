// SPDX-License-Identifier: Apache-2.0
//
// Matchers for absl::Status and absl::StatusOr, which Abseil has only since 2023.

#ifndef PREFIXROUTE_TESTS_TESTING_STATUS_MATCHERS_H_
#define PREFIXROUTE_TESTS_TESTING_STATUS_MATCHERS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"

namespace prefixroute::test {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename Value>
const absl::Status& StatusOf(const absl::StatusOr<Value>& result) {
  return result.status();
}

MATCHER(IsOk, negation ? "isn't OK" : "is OK") {
  *result_listener << "which is " << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

// A status of `code`.
MATCHER_P(HasCode, code, std::string(negation ? "hasn't" : "has") + " the code " + absl::StatusCodeToString(code)) {
  *result_listener << "which is " << StatusOf(arg).ToString();
  return StatusOf(arg).code() == code;
}

// A status of `code` whose message matches `message`, a matcher of std::string.
MATCHER_P2(StatusIs, code, message, "has the code " + absl::StatusCodeToString(code) + " and a fitting message") {
  *result_listener << "which is " << StatusOf(arg).ToString();
  return StatusOf(arg).code() == code &&
         ::testing::Matches(::testing::Matcher<std::string>(message))(std::string(StatusOf(arg).message()));
}

}  // namespace prefixroute::test

#endif  // PREFIXROUTE_TESTS_TESTING_STATUS_MATCHERS_H_
