// SPDX-License-Identifier: Apache-2.0
//
// The rules from outside the router, each against what its project publishes.

#include "benchmarks/replay/rules/rules.h"

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace prefixroute::replay {
namespace {

constexpr uint32_t kInstances = 4;

// A gateway with a rule of its own, and prompts of blocks of 16 tokens.
class Bench {
 public:
  explicit Bench(const std::string& name, uint32_t instances = kInstances, uint64_t cache_blocks = 1000) {
    for (uint32_t i = 0; i < instances; ++i) {
      engines.emplace_back(EngineOptions(), kTextBlockTokens);
      membership.push_back(i);
    }
    rule = FindRules(name, {}, {1024})->front().make({engines, kTextBlockTokens, cache_blocks, 0, instances + 1, 1});
    EXPECT_TRUE(rule->SetInstances(membership).ok());
  }

  uint32_t Place(const std::string& text, bool stays = false) {
    const uint32_t slot = next_slot_++;
    trace_.requests.clear();
    TraceRequest request;
    request.text = text;
    request.blocks = ChainText(text);
    request.input_tokens = static_cast<uint32_t>(text.size() / kBytesPerToken);
    const absl::StatusOr<Placement> placed = rule->Place(slot, {trace_, request, 0x9e3779b97f4a7c15 * (slot + 1)});
    EXPECT_TRUE(placed.ok()) << placed.status();
    last = *placed;
    if (!stays) rule->Finish(slot);
    return placed->instance;
  }

  std::deque<Engine> engines;
  std::vector<uint32_t> membership;
  std::unique_ptr<Rule> rule;
  Placement last;

 private:
  Trace trace_;
  uint32_t next_slot_ = 0;
};

std::string Text(char first, size_t blocks) { return std::string(blocks * 64, first); }

TEST(RulesTest, RoundRobinTakesOneAfterTheOther) {
  Bench bench("round_robin");
  std::vector<uint32_t> order;
  for (int i = 0; i < 6; ++i) order.push_back(bench.Place("x"));
  EXPECT_EQ(order, (std::vector<uint32_t>{0, 1, 2, 3, 0, 1}));
  ASSERT_TRUE(bench.rule->SetInstances({1, 3, 4}).ok());
  order.clear();
  for (int i = 0; i < 4; ++i) order.push_back(bench.Place("x"));
  EXPECT_EQ(order, (std::vector<uint32_t>{3, 4, 1, 3}));
}

TEST(RulesTest, BoundedHashKeepsAPrefixTogetherUpToTheBound) {
  Bench bench("bounded_hash");
  const uint32_t home = bench.Place(Text('a', 32) + "1");
  EXPECT_EQ(bench.Place(Text('a', 32) + "2"), home);
  // 512 tokens count, and what follows doesn't.
  std::set<uint32_t> homes;
  for (int i = 0; i < 64; ++i) homes.insert(bench.Place(std::to_string(i) + Text('a', 32)));
  EXPECT_EQ(homes.size(), kInstances);
  // ceil(1.25 * (n + 1) / 4) with n outstanding: at 1, 2 at most until the 4th stays, then 2 until 6 are there.
  std::map<uint32_t, int> stay;
  for (int i = 0; i < 8; ++i) ++stay[bench.Place(Text('a', 32), true)];
  EXPECT_EQ(stay[home], 3);  // ceil(1.25 * 8 / 4).
  EXPECT_TRUE(bench.last.diverted || bench.last.instance == home);
}

TEST(RulesTest, BoundedHashMovesOnlyWhatARemovedInstanceHad) {
  Bench bench("bounded_hash");
  std::map<std::string, uint32_t> before;
  for (int i = 0; i < 200; ++i) {
    const std::string text = std::to_string(i) + Text('a', 32);
    before[text] = bench.Place(text);
  }
  ASSERT_TRUE(bench.rule->SetInstances({0, 1, 3}).ok());
  for (const auto& [text, instance] : before) {
    if (instance != 2) {
      EXPECT_EQ(bench.Place(text), instance);
    } else {
      EXPECT_NE(bench.Place(text), 2u);
    }
  }
}

TEST(RulesTest, BoundedHashOfTheUserMessageLooksAtNothingElse) {
  const auto chat = [](const std::string& system, const std::string& user, const std::string& rest) {
    return R"([{"role": "system", "content": ")" + system + R"("}, {"role": "user", "content": ")" + user + R"("})" +
           rest + "]";
  };
  Bench bench("bounded_hash_user");
  std::set<uint32_t> homes;
  for (int i = 0; i < 64; ++i) {
    const std::string user = R"(say \"{}\" and \"})" + std::to_string(i);
    const uint32_t home = bench.Place(chat("one", user, ""));
    EXPECT_EQ(bench.Place(chat("other", user, R"(, {"role": "assistant", "content": "yes"})")), home);
    homes.insert(home);
  }
  EXPECT_EQ(homes.size(), kInstances);
  TraceRequest request;
  request.text = chat("one", "two", "");
  EXPECT_TRUE(HasUserMessage(request));
  request.text = "a user asks";
  EXPECT_FALSE(HasUserMessage(request));
}

TEST(RulesTest, PrefixTreeFollowsAMatchOfMoreThanHalf) {
  Bench bench("prefix_tree");
  const uint32_t first = bench.Place(Text('a', 10));
  EXPECT_EQ(bench.Place(Text('a', 10) + Text('b', 9)), first);
  // Exactly half is too little: the smallest tree takes it.
  EXPECT_NE(bench.Place(Text('a', 10) + Text('c', 10)), first);
}

TEST(RulesTest, PrefixTreeGivesUnknownPromptsToTheSmallestTree) {
  Bench bench("prefix_tree");
  std::set<uint32_t> taken;
  for (char c = 'a'; c < 'a' + static_cast<char>(kInstances); ++c) taken.insert(bench.Place(Text(c, 10)));
  EXPECT_EQ(taken.size(), kInstances);
}

TEST(RulesTest, PrefixTreeBalancesBeyondItsGate) {
  Bench bench("prefix_tree");
  const uint32_t home = bench.Place(Text('a', 10));
  for (int i = 0; i < 33; ++i) EXPECT_EQ(bench.Place(Text('a', 10), true), home);
  EXPECT_NE(bench.Place(Text('a', 10), true), home);  // 33 against 0.
}

TEST(RulesTest, PrefixScoreWeighsPrefixAgainstQueue) {
  Bench bench("prefix_score");
  const uint32_t home = bench.Place(Text('a', 10));
  // 3 for the whole prefix against 2 for the shortest queue.
  for (int i = 0; i < 50; ++i) EXPECT_EQ(bench.Place(Text('a', 10), true), home);
  // 3 * 0.7 against 2.
  EXPECT_EQ(bench.Place(Text('a', 7) + Text('c', 3)), home);
  // 3 * 0.6 against 2.
  EXPECT_NE(bench.Place(Text('a', 6) + Text('b', 4)), home);
}

TEST(RulesTest, PrefixScoreForgetsTheLeastRecentlyUsed) {
  Bench bench("prefix_score", 2, 15);
  const uint32_t home = bench.Place(Text('a', 10));
  for (int i = 0; i < 40; ++i) bench.Place(Text(static_cast<char>('b' + i % 20), 10));
  int same = 0;
  for (int i = 0; i < 40; ++i) {
    same += bench.Place(Text('a', 10)) == home ? 1 : 0;
    bench.rule->CacheLost(0);
    bench.rule->CacheLost(1);
  }
  EXPECT_GT(same, 5);  // A random one of the two, each time.
  EXPECT_LT(same, 35);
}

TEST(RulesTest, PreciseTakesTheLeastWork) {
  Bench bench("precise", 2);
  const std::string text = Text('a', 100);  // 1600 tokens.
  const std::vector<BlockId> blocks = ChainText(text);
  bench.engines[1].Submit({1, 1600, 1, blocks});
  EXPECT_EQ(bench.Place(text), 0u);  // 1600 against 1600 + 1600.
  bench.engines[1].StartStep();
  Engine::StepResult result;
  bench.engines[1].FinishStep(&result);
  EXPECT_EQ(bench.Place(text), 1u);  // 1600 against 16.
  bench.engines[1].Submit({2, 1590, 1, {}});
  EXPECT_EQ(bench.Place(text), 0u);  // 1600 against 1590 + 16.
}

TEST(RulesTest, PreciseByLambdaGuardsCaches) {
  Bench bench("precise_2", 2);
  const std::string text = Text('a', 100);
  const std::vector<BlockId> blocks = ChainText(text);
  bench.engines[1].Submit({1, 1600, 1, blocks});
  bench.engines[1].StartStep();
  Engine::StepResult result;
  bench.engines[1].FinishStep(&result);
  bench.engines[1].Submit({2, 3000, 1, {}});
  EXPECT_EQ(bench.Place(text), 1u);  // 2 * 1600 against 3000 + 2 * 16.
}

TEST(RulesTest, EveryRuleIsFoundByItsNameAndNoOther) {
  for (const RuleDescription& rule : AllRules()) {
    const absl::StatusOr<std::vector<NamedRule>> found = FindRules(rule.name, {}, {64, 128});
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->size(), std::string(rule.name) == "strict" ? 2u : 1u) << rule.name;
  }
  EXPECT_EQ(FindRules("fastest", {}, {64}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace prefixroute::replay
