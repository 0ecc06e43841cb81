// SPDX-License-Identifier: Apache-2.0
//
// Which bytes of a request decide its home, through the Router: prefixes of one order on 64 instances have one key.

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/prefix_key.h"
#include "prefixroute/router.h"
#include "tests/testing/fleet.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::ForPrefix;
using test::IsOk;
using test::MakeInstances;
using test::MakeRouter;
using test::OrderOf;
using test::OutstandingOf;
using ::testing::Each;

RouterOptions WithLimit(uint64_t bytes) {
  RouterOptions options;
  options.max_prefix_bytes = bytes;
  return options;
}

class PrefixBytesTest : public ::testing::Test {
 protected:
  using Order = std::vector<uint32_t>;

  Order Of(std::string_view prefix, std::string_view scope = {}) const {
    Request request = ForPrefix(prefix);
    request.scope = scope;
    return OrderOf(*router_, request);
  }

  // In strict mode, whose order is that of the whole prefix.
  std::unique_ptr<Router> router_ = MakeRouter(test::StrictOptions(kDefaultMaxPrefixBytes), MakeInstances(64));
};

TEST_F(PrefixBytesTest, EmptyPrefixHasNoHomeAndGoesByLeastOutstanding) {
  for (std::string_view empty : {std::string_view(), std::string_view(nullptr, 0), std::string_view("x", 0)}) {
    for (std::string_view scope : {"", "a scope alone is no prefix"}) {
      Request request = ForPrefix(empty);
      request.scope = scope;
      std::vector<Lease> leases;
      for (int i = 0; i < 128; ++i) {
        leases.push_back(AcquireOk(*router_, request));
        EXPECT_EQ(leases.back().decision().reason, Reason::kNoPrefix);
        EXPECT_EQ(leases.back().decision().home, kNoInstance);
        EXPECT_EQ(leases.back().decision().rank, 0u);
      }
      EXPECT_THAT(OutstandingOf(*router_), Each(2u));
    }
  }
}

TEST_F(PrefixBytesTest, EmptyPrefixSpreadsEvenOneRequestAtATime) {
  std::set<uint32_t> chosen;
  for (int i = 0; i < 2000; ++i) chosen.insert(AcquireOk(*router_, ForPrefix("")).decision().instance);
  EXPECT_EQ(chosen.size(), 64u);
}

TEST_F(PrefixBytesTest, NulIsAByteLikeAnyOther) {
  EXPECT_NE(Of({"\0A", 2}), Of({"\0B", 2}));
  EXPECT_NE(Of({"A\0", 2}), Of({"A", 1}));
  EXPECT_NE(Of({"\0", 1}), Of({"\0\0", 2}));
}

TEST_F(PrefixBytesTest, AnyBytesAreAPrefix) {
  EXPECT_NE(Of("\xff\xfe"), Of("\xff\xff"));
  EXPECT_NE(Of("\xc3\x28"), Of("\xe2\x28\xa1"));
  EXPECT_NE(Of("\xed\xa0\x80"), Of("\xef\xbf\xbd"));  // A surrogate, and what replaces one.
  std::set<Order> orders;
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all.push_back(static_cast<char>(byte));
    orders.insert(Of({&all.back(), 1}));
    orders.insert(Of(all));
  }
  EXPECT_EQ(orders.size(), 511u);  // "\0" twice.
}

TEST_F(PrefixBytesTest, WhereTheBytesLieInMemoryDoesNotMatter) {
  std::string text(1000, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7);
  for (size_t length : {1, 3, 16, 17, 129, 241, 1000}) {
    const Order expected = Of(std::string_view(text).substr(0, length));
    std::vector<char> memory(length + 64);
    for (size_t offset = 0; offset < 64; ++offset) {
      std::memcpy(memory.data() + offset, text.data(), length);
      ASSERT_EQ(Of({memory.data() + offset, length}), expected) << length << " bytes at " << offset;
    }
  }
}

TEST_F(PrefixBytesTest, BytesUpToTheLimitCountAndNoMore) {
  for (uint64_t limit : {1u, 64u, 1000u}) {
    router_ = MakeRouter(test::StrictOptions(limit), MakeInstances(64));
    const std::string prompt(limit, 'x');
    EXPECT_EQ(Of(prompt), Of(prompt + "y"));
    EXPECT_EQ(Of(prompt), Of(prompt + std::string(100'000, 'y')));
    std::string other_at_the_end = prompt;
    other_at_the_end.back() = 'y';
    EXPECT_NE(Of(prompt), Of(other_at_the_end));
    if (limit > 1) {
      EXPECT_NE(Of(prompt), Of(prompt.substr(1)));
    }
    const auto router = MakeRouter(WithLimit(limit), MakeInstances(64));
    for (uint64_t bytes : {limit, limit + 1, limit + 100'000}) {
      EXPECT_EQ(AcquireOk(*router, ForPrefix(std::string(bytes, 'x'))).decision().prefix_bytes, limit);
    }
  }
}

// Instead of a clock: the page behind the limit can't be read.
TEST_F(PrefixBytesTest, BytesBehindTheLimitAreNotRead) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* memory = static_cast<char*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, /*offset=*/0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory + page, page, PROT_NONE), 0);
  for (uint64_t limit : {1u, 63u, 64u, 1000u}) {
    std::memset(memory, 'x', page);
    for (const RouterOptions& options : {WithLimit(limit), test::StrictOptions(limit)}) {
      router_ = MakeRouter(options, MakeInstances(64));
      EXPECT_EQ(Of({memory + page - limit, limit + page}), Of(std::string(limit, 'x')));
    }
  }
  munmap(memory, 2 * page);
}

TEST_F(PrefixBytesTest, TenMebibytesAreFineAndThoseUpToTheLimitCount) {
  std::string prompt(10 << 20, 'x');
  const Order expected = Of(prompt);
  prompt[kDefaultMaxPrefixBytes] = 'y';
  EXPECT_EQ(Of(prompt), expected);
  prompt[kDefaultMaxPrefixBytes - 1] = 'y';
  EXPECT_NE(Of(prompt), expected);
  const auto router = MakeRouter(WithLimit(kMaxMaxPrefixBytes), MakeInstances(64));
  EXPECT_EQ(AcquireOk(*router, ForPrefix(prompt)).decision().prefix_bytes, prompt.size());
  router_ = MakeRouter(test::StrictOptions(kMaxMaxPrefixBytes), MakeInstances(64));
  const Order whole = Of(prompt);
  prompt.back() = 'y';
  EXPECT_NE(Of(prompt), whole);
}

TEST_F(PrefixBytesTest, ScopeIsFramed) {
  EXPECT_NE(Of("bc", "a"), Of("c", "ab"));
  EXPECT_NE(Of("abc"), Of("bc", "a"));
  EXPECT_NE(Of("a", "b"), Of("b", "a"));
  EXPECT_NE(Of("a", "a"), Of("b", "b"));
  EXPECT_NE(Of("a", "a"), Of("a"));
  EXPECT_NE(Of("a", {"\0", 1}), Of("a"));
}

TEST_F(PrefixBytesTest, OnePrefixSpreadsOverAllInstancesByItsScopes) {
  router_ = MakeRouter({}, MakeInstances(7));
  std::set<uint32_t> homes;
  for (int tenant = 0; tenant < 200; ++tenant) homes.insert(Of("one prompt", "tenant " + std::to_string(tenant))[0]);
  EXPECT_EQ(homes.size(), 7u);
}

TEST_F(PrefixBytesTest, ReadyKeyStandsForThePrefixAndScopeThatItWasMadeOf) {
  Request ready;
  PrefixKey key = MakePrefixKey("prompt", "model");
  ready.key = &key;
  EXPECT_EQ(OrderOf(*router_, ready), Of("prompt", "model"));
  ready.prefix = "another";
  ready.scope = "and another";
  EXPECT_EQ(OrderOf(*router_, ready), Of("prompt", "model"));

  PrefixHasher hasher;
  hasher.AddScope("model");
  for (char byte : std::string_view("prompt")) hasher.Update({&byte, 1});
  key = hasher.Key();
  EXPECT_EQ(OrderOf(*router_, ready), Of("prompt", "model"));

  ready.key = nullptr;
  EXPECT_EQ(OrderOf(*router_, ready), Of("another", "and another"));
  key = PrefixKey();
  ready.key = &key;
  EXPECT_EQ(AcquireOk(*router_, ready).decision().reason, Reason::kNoPrefix) << "the empty key is one, too";
}

}  // namespace
}  // namespace prefixroute
