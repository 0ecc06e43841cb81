// SPDX-License-Identifier: Apache-2.0
//
// What PREFIX_AWARE does with requests that follow each other, as a caller sees it.

#include "src/strategy/prefix_aware.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "tests/state/child_process.h"
#include "tests/testing/fleet.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::ForPrefix;
using test::HasCode;
using test::IsOk;
using test::MakeInstances;
using test::MakeRouter;
using test::OutstandingOf;
using ::testing::Each;
using ::testing::IsSubsetOf;
using ::testing::Lt;

// Texts that begin with random bytes, the same in each run.
class Texts {
 public:
  explicit Texts(uint64_t seed) : random_(seed) {}
  std::string Next(size_t size) {
    std::string text(size, 'x');
    for (size_t i = 0; i < std::min<size_t>(size, 64); ++i) text[i] = static_cast<char>(random_());
    return text;
  }
  uint64_t Below(uint64_t end) { return random_() % end; }

 private:
  std::mt19937_64 random_;
};

// Requests that come one after the other, of which the last `concurrency` are under way; all but the newest half of
// them have their first token.
class Traffic {
 public:
  Traffic(Router& router, size_t concurrency) : router_(router), concurrency_(concurrency) {}

  Decision Send(const std::string& prompt) {
    leases_.push_back(AcquireOk(router_, ForPrefix(prompt)));
    const Decision decision = leases_.back().decision();
    if (leases_.size() > concurrency_ / 2) leases_[leases_.size() - 1 - concurrency_ / 2].FirstToken();
    if (leases_.size() > concurrency_) leases_.pop_front();
    return decision;
  }
  // How many of `count` new prompts, made by `prompt`, each instance gets.
  template <typename Prompt>
  std::map<uint32_t, int> Spread(int count, Prompt prompt) {
    std::map<uint32_t, int> spread;
    for (int i = 0; i < count; ++i) ++spread[Send(prompt()).instance];
    return spread;
  }

 private:
  Router& router_;
  size_t concurrency_;
  std::deque<Lease> leases_;
};

// ---- Where a prompt was before.

// At the instance alone, be it the home or not.
Decision SendTo(Router& router, uint32_t instance, const std::string& prompt) {
  const std::vector<uint32_t> others = test::AllBut(instance, static_cast<uint32_t>(OutstandingOf(router).size()));
  Request request = ForPrefix(prompt);
  request.exclude_indexes = others;
  return AcquireOk(router, request).decision();
}

TEST(PrefixAwareTest, ARepeatedPromptGoesWhereItWentWhileLoadIsLevel) {
  Texts texts(1);
  const auto router = MakeRouter({}, MakeInstances(7));
  for (int i = 0; i < 100; ++i) {
    const std::string prompt = texts.Next(1 + texts.Below(50'000));
    const auto first = static_cast<uint32_t>(texts.Below(7));
    SendTo(*router, first, prompt);
    for (int again = 0; again < 3; ++again) {
      const Decision decision = AcquireOk(*router, ForPrefix(prompt)).decision();
      ASSERT_EQ(decision.instance, first) << "prompt " << i;
      ASSERT_EQ(decision.reason, decision.home == first ? Reason::kHome : Reason::kHolder);
    }
  }
}

TEST(PrefixAwareTest, AConversationStaysWhereItBegan) {
  Texts texts(2);
  const auto router = MakeRouter({}, MakeInstances(7));
  for (int conversation = 0; conversation < 50; ++conversation) {
    std::string prompt = texts.Next(500);
    const auto first = static_cast<uint32_t>(texts.Below(7));
    SendTo(*router, first, prompt);
    for (int turn = 0; turn < 10; ++turn) {
      prompt += texts.Next(1 + texts.Below(3'000));
      ASSERT_EQ(AcquireOk(*router, ForPrefix(prompt)).decision().instance, first)
          << "turn " << turn << " of conversation " << conversation;
    }
  }
}

TEST(PrefixAwareTest, MatchedIsTheDeepestDepthThatBothPromptsReachAlike) {
  Texts texts(3);
  const auto router = MakeRouter({}, MakeInstances(1));
  for (int i = 0; i < 200; ++i) {
    const std::string sent = texts.Next(1'000 + texts.Below(50'000));
    const size_t shared = texts.Below(sent.size());
    AcquireOk(*router, ForPrefix(sent));
    const std::string prompt = sent.substr(0, shared) + texts.Next(10'000);
    uint64_t deepest = 0;
    for (const uint64_t depth : kPrefixDepths) {
      if (depth <= shared) deepest = depth;
    }
    const Decision decision = AcquireOk(*router, ForPrefix(prompt)).decision();
    ASSERT_EQ(decision.matched_bytes, deepest) << shared << " bytes shared";
    ASSERT_EQ(decision.prefix_bytes, prompt.size());
    ASSERT_LE(decision.uncached_bytes, prompt.size() - deepest);
  }
}

TEST(PrefixAwareTest, AnotherScopesPromptIsAnotherPrompt) {
  const auto router = MakeRouter({}, MakeInstances(3));
  const std::string prompt(5'000, 'x');
  AcquireOk(*router, ForPrefix(prompt));
  Request request = ForPrefix(prompt);
  request.scope = "tenant";
  EXPECT_EQ(AcquireOk(*router, request).decision().matched_bytes, 0u);
  EXPECT_GT(AcquireOk(*router, request).decision().matched_bytes, 0u);
}

// ---- Load against cache.

TEST(PrefixAwareTest, PendingBytesDivertAndTheFirstTokenBringsItBack) {
  Texts texts(4);
  const auto router = MakeRouter({}, MakeInstances(4));
  const std::string system = texts.Next(8'192);
  const uint32_t holder = AcquireOk(*router, ForPrefix(system)).decision().instance;
  const std::vector<uint32_t> others = test::AllBut(holder, 4);
  const std::string great = texts.Next(400'000);
  Request at_holder = ForPrefix(great);
  at_holder.exclude_indexes = others;
  Lease busy = AcquireOk(*router, at_holder);

  const Decision diverted = AcquireOk(*router, ForPrefix(system + "first question")).decision();
  EXPECT_NE(diverted.instance, holder);
  EXPECT_EQ(diverted.matched_bytes, 0u);
  ASSERT_THAT(router->ForgetCache("i-" + std::to_string(diverted.instance)), IsOk());
  busy.FirstToken();
  EXPECT_EQ(AcquireOk(*router, ForPrefix(system + "second question")).decision().instance, holder);
}

TEST(PrefixAwareTest, ARequestUnderWayCountsToo) {
  const auto router = MakeRouter({}, MakeInstances(3));
  const std::string prompt(2'000, 'x');
  Lease first = AcquireOk(*router, ForPrefix(prompt));
  first.FirstToken();
  std::vector<Lease> leases;
  std::set<uint32_t> used;
  for (int i = 0; i < 30; ++i) {
    leases.push_back(AcquireOk(*router, ForPrefix(prompt)));
    leases.back().FirstToken();
    used.insert(leases.back().decision().instance);
  }
  EXPECT_EQ(used.size(), 3u) << "one prompt, all cached: decoding alone is reason enough to spread";
}

TEST(PrefixAwareTest, AHotPrefixSpreadsAndItsLongerPromptsHomesLieAmongItsOwn) {
  Texts texts(5);
  const auto router = MakeRouter({}, MakeInstances(20));
  Traffic traffic(*router, 60);
  const std::string hot = texts.Next(4'096);
  std::set<uint32_t> used;
  for (int i = 0; i < 6'000; ++i) {
    const bool is_hot = i % 10 == 0;
    const Decision decision = traffic.Send((is_hot ? hot : texts.Next(64)) + texts.Next(8'000));
    if (is_hot && i > 3'000) used.insert(decision.instance);
  }
  EXPECT_GT(used.size(), 2u);

  const auto homes_of = [&](const std::string& part) {
    std::set<uint32_t> homes;
    for (int i = 0; i < 500; ++i) {
      uint32_t home = kNoInstance;
      EXPECT_THAT(router->Rank(ForPrefix(part + texts.Next(500)), absl::MakeSpan(&home, 1)), IsOk());
      homes.insert(home);
    }
    return homes;
  };
  const std::set<uint32_t> parents = homes_of(hot);
  EXPECT_GT(parents.size(), 2u);
  EXPECT_LT(parents.size(), 20u) << "it has a tenth of the traffic";
  // A part of it that was asked more often.
  const std::string longer = hot + texts.Next(2'000);
  for (int i = 0; i < 50; ++i) traffic.Send(longer + texts.Next(100));
  EXPECT_THAT(homes_of(longer), IsSubsetOf(parents));
  EXPECT_LT(homes_of(longer).size(), parents.size());
}

// ---- Shares.

TEST(PrefixAwareTest, AnIdleFleetOfEqualsSpreadsNewPromptsEvenly) {
  Texts texts(6);
  const auto router = MakeRouter({}, MakeInstances(7));
  Traffic one_by_one(*router, 0);
  for (const auto& [instance, count] : one_by_one.Spread(7'000, [&] { return texts.Next(200); })) {
    EXPECT_GT(count, 850) << instance;
    EXPECT_LT(count, 1'150) << instance;
  }
}

TEST(PrefixAwareTest, ABusyFleetsSharesFollowTheWeights) {
  Texts texts(7);
  std::vector<Instance> instances = MakeInstances(4);
  const std::vector<double> weights = {1, 2, 3, 4};
  for (size_t i = 0; i < 4; ++i) instances[i].weight = weights[i];
  const auto router = MakeRouter({}, instances);
  Traffic busy(*router, 100);
  const std::map<uint32_t, int> spread = busy.Spread(10'000, [&] { return texts.Next(20'000); });
  for (const auto& [instance, count] : spread) {
    EXPECT_GT(count, 850 * weights[instance]) << instance;
    EXPECT_LT(count, 1'150 * weights[instance]) << instance;
  }
  EXPECT_EQ(spread.size(), 4u);
}

TEST(PrefixAwareTest, AnInstanceThatJoinsGetsItsPartAndNotEverything) {
  Texts texts(8);
  const auto router = MakeRouter({}, MakeInstances(4));
  Traffic traffic(*router, 40);
  std::vector<std::string> conversations;
  for (int i = 0; i < 40; ++i) conversations.push_back(texts.Next(4'000));
  const auto next_turn = [&] {
    std::string& conversation = conversations[texts.Below(conversations.size())];
    conversation = conversation.size() > 40'000 ? texts.Next(4'000) : conversation + texts.Next(1'000);
    return conversation;
  };
  traffic.Spread(2'000, next_turn);
  ASSERT_THAT(router->SetInstances(MakeInstances(5)), IsOk());
  std::map<uint32_t, int> early = traffic.Spread(40, next_turn);
  EXPECT_LT(early[4], 30) << "what it hasn't cached costs something";
  std::map<uint32_t, int> spread = traffic.Spread(2'000, next_turn);
  EXPECT_GT(spread[4], 200);
  EXPECT_LT(spread[4], 800);
}

// ---- Who may not be chosen.

TEST(PrefixAwareTest, NoHardBoundIsPassed) {
  Texts texts(9);
  const auto router = MakeRouter({}, MakeInstances(3, /*max_outstanding=*/4));
  const std::string prompt = texts.Next(10'000);
  std::vector<Lease> leases;
  for (int i = 0; i < 12; ++i) {
    leases.push_back(AcquireOk(*router, ForPrefix(prompt)));
    leases.back().FirstToken();
    ASSERT_THAT(OutstandingOf(*router), Each(Lt(5u)));
  }
  EXPECT_THAT(router->Acquire(ForPrefix(prompt)), HasCode(absl::StatusCode::kResourceExhausted));
  const uint32_t freed = leases[5].decision().instance;
  leases[5].Finish();
  EXPECT_EQ(AcquireOk(*router, ForPrefix(prompt)).decision().instance, freed);
}

TEST(PrefixAwareTest, WhoIsUnavailableIsNeverChosenHoweverMuchItHasCached) {
  Texts texts(10);
  std::vector<Instance> instances = MakeInstances(4);
  const auto router = MakeRouter({}, instances);
  std::vector<std::string> prompts;
  std::vector<Decision> before;
  for (int i = 0; i < 100; ++i) {
    prompts.push_back(texts.Next(5'000));
    before.push_back(AcquireOk(*router, ForPrefix(prompts.back())).decision());
  }
  ASSERT_THAT(router->SetDraining("i-0", true), IsOk());
  instances[1].weight = 0;
  ASSERT_THAT(router->SetInstances(instances), IsOk());
  const std::vector<uint32_t> excluded = {2};
  int diverted = 0;
  for (size_t i = 0; i < prompts.size(); ++i) {
    Request request = ForPrefix(prompts[i]);
    request.exclude_indexes = excluded;
    const Decision decision = AcquireOk(*router, request).decision();
    ASSERT_EQ(decision.instance, 3u);
    const bool home_is_out = decision.home == 0 || decision.home == 2;
    ASSERT_EQ(decision.reason == Reason::kDivertedUnavailable, home_is_out);
    diverted += home_is_out ? 1 : 0;
    ASSERT_NE(decision.home, 1u) << "who has no weight is nobody's home";
  }
  EXPECT_GT(diverted, 50);
}

TEST(PrefixAwareTest, AnEmptyPrefixGoesToTheLeastOutstanding) {
  const auto router = MakeRouter({}, MakeInstances(3));
  const std::vector<Lease> one = test::Occupy(*router, 0, 2);
  const std::vector<Lease> other = test::Occupy(*router, 2, 1);
  const Lease lease = AcquireOk(*router, {});
  EXPECT_EQ(lease.id(), "i-1");
  EXPECT_EQ(lease.decision().reason, Reason::kNoPrefix);
  EXPECT_EQ(lease.decision().home, kNoInstance);
  EXPECT_EQ(lease.decision().rank, 0u);
}

// ---- The same history, the same decisions.

// Ids, and what was expected of each, by a history with all that may happen in it.
std::string DecisionsOf(std::vector<Instance> instances) {
  Texts texts(11);
  std::map<std::string, uint32_t> index_of;
  for (uint32_t i = 0; i < instances.size(); ++i) index_of[instances[i].id] = i;
  const auto router = MakeRouter({}, instances);
  Traffic traffic(*router, 30);
  std::string decisions;
  const auto add = [&](const Decision& decision) {
    decisions += instances[decision.instance].id + " of " + instances[decision.home].id + " " +
                 std::to_string(decision.rank) + " " + std::string(ReasonName(decision.reason)) + " " +
                 std::to_string(decision.matched_bytes) + " " + std::to_string(decision.uncached_bytes) + "\n";
  };
  std::vector<std::string> conversations(20);
  for (int i = 0; i < 1'000; ++i) {
    std::string& conversation = conversations[texts.Below(conversations.size())];
    conversation = texts.Below(10) == 0 ? std::string(2'000, 'x') : conversation + texts.Next(texts.Below(3'000) + 1);
    const std::string id = "i-" + std::to_string(texts.Below(instances.size()));
    absl::Status status;
    if (i % 100 == 50) status = router->ForgetCache(id);
    if (i % 100 == 70) status = router->SetDraining(id, texts.Below(2) == 0);
    EXPECT_THAT(status, IsOk());
    if (i % 10 == 0) {
      std::vector<Load> loads(instances.size());
      for (size_t each = 0; each < instances.size(); ++each) {
        loads[index_of["i-" + std::to_string(each)]] = {static_cast<uint32_t>(texts.Below(9)), texts.Below(100'000)};
      }
      add(test::RouteOk(*router, ForPrefix(conversation), loads));
    } else {
      add(traffic.Send(conversation));
    }
  }
  return decisions;
}

std::vector<Instance> Weighted() {
  std::vector<Instance> instances = MakeInstances(9);
  for (size_t i = 0; i < instances.size(); ++i) instances[i].weight = 1.0 + 0.7 * static_cast<double>(i % 3);
  return instances;
}

TEST(PrefixAwareTest, InstancesInAnotherOrderChangeNoDecision) {
  for (std::vector<Instance> instances : {MakeInstances(9), Weighted()}) {
    const std::string decisions = DecisionsOf(instances);
    std::mt19937 random(12);
    for (int i = 0; i < 5; ++i) {
      std::shuffle(instances.begin(), instances.end(), random);
      ASSERT_EQ(DecisionsOf(instances), decisions);
    }
  }
}

TEST(PrefixAwareTest, AnotherProcessDecidesTheSame) {
  const std::string decisions = DecisionsOf(Weighted());
  test::ChildProcess child([&] { EXPECT_EQ(DecisionsOf(Weighted()), decisions); });
  child.Join();
}

// ---- Replicas of the gateway.

// One of several trusts the home more: what it didn't send there, another may have.
TEST(PrefixAwareTest, GatewayReplicasMatter) {
  const auto goes_home = [](uint32_t gateway_replicas) {
    Texts texts(13);
    RouterOptions options;
    options.gateway_replicas = gateway_replicas;
    const auto router = MakeRouter(options, MakeInstances(5));
    std::vector<Load> loads(5);
    int home = 0;
    for (int i = 0; i < 200; ++i) {
      const std::string prompt = texts.Next(2'000);
      loads.assign(5, {});
      uint32_t first = kNoInstance;
      EXPECT_THAT(router->Rank(ForPrefix(prompt), absl::MakeSpan(&first, 1)), IsOk());
      loads[first] = {1};  // A little more than the others.
      home += test::RouteOk(*router, ForPrefix(prompt), loads).reason == Reason::kHome ? 1 : 0;
    }
    return home;
  };
  EXPECT_EQ(goes_home(1), 0);
  EXPECT_EQ(goes_home(1'000), 200);
}

}  // namespace
}  // namespace prefixroute
