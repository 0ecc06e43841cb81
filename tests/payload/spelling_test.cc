// SPDX-License-Identifier: Apache-2.0
//
// One request has one key, however its client writes it: that of the bytes that docs/payloads.md says.

#include "tests/payload/spelling.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/payload/canonical.h"
#include "tests/payload/random_body.h"
#include "tests/payload/reference.h"
#include "tests/testing/scale.h"

namespace prefixroute {
namespace {

std::string TextOf(const Json& body, const char* name) { return body.value(name, std::string()); }

// Members of the body, of a message and of a block of text come in any order.
TEST(PayloadSpellingTest, OrderOfFieldsSpaceAndEscapesDontMatter) {
  BodyMaker maker(1);
  Speller speller(2);
  PayloadReader reader;
  int understood = 0;
  const int rounds = test::Scaled(2'000);
  for (int round = 0; round < rounds; ++round) {
    const Json body = maker.Body();
    const std::string canonical = ReferenceCanonical(body);
    const std::string model = TextOf(body, "model");
    const std::string salt = TextOf(body, "cache_salt");
    const std::string adapter = body.contains("parameters") ? TextOf(body["parameters"], "adapter_id") : "";
    Scope scope;
    scope.model = model;
    scope.cache_salt = salt;
    scope.adapter = adapter;
    const PrefixKey key = KeyOf(canonical, scope);
    for (int spelling = 0; spelling < 5; ++spelling) {
      const std::string text = spelling == 0 ? body.dump() : speller.SpellBody(body);
      SCOPED_TRACE(text);
      const Payload& payload = reader.Read(text);
      ASSERT_EQ(payload.fallback, "");
      ASSERT_EQ(payload.prompt_bytes, canonical.size());
      ASSERT_NO_FATAL_FAILURE(ExpectSameKey(payload.key, key));
      ASSERT_EQ(payload.model, model);
      ASSERT_EQ(payload.cache_salt, salt);
      ASSERT_EQ(payload.stream, body.value("stream", false));
      ++understood;
    }
  }
  EXPECT_EQ(understood, 5 * rounds);
}

}  // namespace
}  // namespace prefixroute
