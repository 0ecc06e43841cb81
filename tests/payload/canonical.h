// SPDX-License-Identifier: Apache-2.0
//
// For tests: the canonical form of docs/payloads.md put together by hand, and what a reader makes of a body.

#ifndef PREFIXROUTE_TESTS_PAYLOAD_CANONICAL_H_
#define PREFIXROUTE_TESTS_PAYLOAD_CANONICAL_H_

#include <initializer_list>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "prefixroute/payload.h"
#include "prefixroute/prefix_key.h"

namespace prefixroute {

// A piece of the prompt.
inline std::string Piece(char kind, std::string_view bytes) {
  std::string piece = "\xff";
  piece += kind;
  piece += bytes;
  return piece;
}

// A message of one text.
inline std::string MessagePiece(std::string_view role, std::string_view text) {
  return Piece('M', role) + Piece('C', text);
}

// A string within a value in JSON.
inline std::string JsonText(std::string_view text) { return "\"" + std::string(text) + "\xff"; }

struct Scope {
  std::string_view callers;
  std::string_view model;
  std::string_view adapter;
  std::string_view cache_salt;
};

inline PrefixKey KeyOf(std::string_view canonical, const Scope& scope = {},
                       uint64_t max_prefix_bytes = kDefaultMaxPrefixBytes) {
  PrefixHasher hasher(max_prefix_bytes);
  hasher.AddScope(scope.callers);
  const auto add = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    hasher.AddScope(name);
    hasher.AddScope(value);
  };
  add("model", scope.model);
  add("adapter", scope.adapter);
  add("cache_salt", scope.cache_salt);
  hasher.Update(canonical);
  return hasher.Key();
}

// PrefixKey's own comparison looks at the value alone.
inline void ExpectSameKey(const PrefixKey& key, const PrefixKey& expected) {
  ASSERT_EQ(key, expected);
  ASSERT_EQ(key.depth_count(), expected.depth_count());
  for (size_t i = 0; i < key.depth_count(); ++i) {
    ASSERT_EQ(key.depth(i), expected.depth(i));
    ASSERT_EQ(key.fingerprint(i), expected.fingerprint(i)) << "depth " << key.depth(i);
  }
}

// Reads `body` as a whole and expects it to be understood, as a prompt that is `canonical`.
inline void ExpectPrompt(std::string_view body, PayloadForm form, std::string_view canonical, const Scope& scope = {}) {
  SCOPED_TRACE(std::string(body.substr(0, 500)));
  PayloadReader reader;
  const Payload& payload = reader.Read(body, BodyPart::kWhole, scope.callers);
  EXPECT_EQ(payload.fallback, "");
  EXPECT_EQ(PayloadFormName(payload.form), PayloadFormName(form));
  EXPECT_EQ(payload.prompt_bytes, canonical.size());
  ExpectSameKey(payload.key, KeyOf(canonical, scope));
}

// The same of bytes that are taken as they are.
inline void ExpectRaw(std::string_view body, std::string_view fallback) {
  SCOPED_TRACE(std::string(body.substr(0, 500)));
  PayloadReader reader;
  const Payload& payload = reader.Read(body);
  EXPECT_EQ(payload.fallback, fallback);
  EXPECT_EQ(payload.form, PayloadForm::kRaw);
  EXPECT_EQ(payload.prompt_bytes, body.size());
  ExpectSameKey(payload.key, MakePrefixKey(body));
}

}  // namespace prefixroute

#endif  // PREFIXROUTE_TESTS_PAYLOAD_CANONICAL_H_
