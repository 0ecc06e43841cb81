// SPDX-License-Identifier: Apache-2.0
//
// Every interleaving of a few actors on one count, each of whom may be killed between any two atomic operations.
//
// What can happen next depends on the count's memory and, for each actor, on how far it is and what its current call
// has seen. That is a state; each is looked at once, however many interleavings lead to it.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/state/stepped_count.h"

namespace prefixroute {
namespace {

constexpr uint32_t kOwners = 4;
constexpr uint32_t kLimit = 2;

enum class Verb {
  kReserve,  // Below kLimit.
  kRelease,  // What this actor reserved, if it has anything.
  kJoin,
  kLeave,
  kReap,  // Takes back all that the owner `reaps` has, and its membership in a second call.
  kReapMember,
  kReadPart,  // That of the owner `reaps`.
};

// What one actor, a thread of an owner, does: one call after the other.
struct Script {
  uint32_t owner;
  std::vector<Verb> calls;
  bool is_killed = false;                 // At any point, or after its last call.
  std::vector<size_t> starts_after = {};  // The actors that must be dead, or have ended, before.
  uint32_t reaps = 0;
};

struct Actor {
  size_t calls_made = 0;
  std::vector<uint64_t> seen;  // By the call under way.
  uint32_t held = 0;           // Reservations.
  bool dead = false;
};

struct State {
  stepped::Atomic word;
  std::array<stepped::Atomic, kOwners> cells;
  std::vector<Actor> actors;

  std::string Serialized() const {
    std::string bytes;
    const auto add = [&](uint64_t number) { bytes.append(reinterpret_cast<const char*>(&number), sizeof(number)); };
    add(word.value);
    for (const stepped::Atomic& cell : cells) add(cell.value);
    for (const Actor& actor : actors) {
      add(uint64_t{actor.calls_made} << 32 | actor.held << 16 | actor.seen.size() << 1 | (actor.dead ? 1 : 0));
      for (uint64_t seen : actor.seen) add(seen);
    }
    return bytes;
  }
};

// Words and cells as count.h lays them out, read without its code.
uint64_t Total(uint64_t word) { return word & 0xfffff; }
uint64_t Part(uint64_t cell) { return cell & 0xfffff; }
uint64_t Number(uint64_t bits) { return bits >> 32; }
bool IsMember(uint64_t cell) { return (cell >> 20 & 1) != 0; }

// What each owner has, the word's operation counted although it may not be in its owner's cell yet.
std::array<int64_t, kOwners> PartsOf(const State& state) {
  std::array<int64_t, kOwners> parts{};
  for (uint32_t owner = 0; owner < kOwners; ++owner)
    parts[owner] = static_cast<int64_t>(Part(state.cells[owner].value));
  const uint64_t word = state.word.value;
  const uint64_t operation = word >> 30 & 3;
  const uint64_t owner = word >> 20 & 1023;
  if (operation != 0 && Number(state.cells[owner].value) != Number(word)) {
    parts[owner] = operation == 1 ? parts[owner] + 1 : operation == 2 ? parts[owner] - 1 : 0;
  }
  return parts;
}

class Explorer {
 public:
  // Numbers of operations start from `number`.
  explicit Explorer(std::vector<Script> scripts, uint64_t number = 0) : scripts_(std::move(scripts)) {
    State start;
    start.word.value = number << 32;
    for (stepped::Atomic& cell : start.cells) cell.value = number << 32;
    start.actors.resize(scripts_.size());
    Visit(std::move(start));
  }

  // Stops at the first state that is wrong.
  void Run() {
    while (!unexplored_.empty() && !testing::Test::HasFailure()) {
      const State state = std::move(unexplored_.back());
      unexplored_.pop_back();
      Check(state);
      bool is_end = true;
      for (size_t i = 0; i < scripts_.size(); ++i) {
        if (scripts_[i].is_killed && !state.actors[i].dead && HasStarted(state, i)) {
          is_end = false;
          State next = state;
          next.actors[i].dead = true;
          Visit(std::move(next));
        }
        if (MayStep(state, i)) {
          is_end = false;
          Visit(AfterStep(state, i));
        }
      }
      if (is_end) CheckEnd(state);
    }
    std::printf("%zu states, %d ends, %d reservations refused\n", visited_.size(), ends_, refusals_);
    EXPECT_GT(ends_, 0);
  }

  int refusals() const { return refusals_; }

 private:
  void Visit(State state) {
    if (visited_.insert(state.Serialized()).second) unexplored_.push_back(std::move(state));
  }

  bool HasEnded(const State& state, size_t actor) const {
    return state.actors[actor].dead ||
           (!scripts_[actor].is_killed && state.actors[actor].calls_made == scripts_[actor].calls.size());
  }
  bool HasStarted(const State& state, size_t actor) const {
    const std::vector<size_t>& after = scripts_[actor].starts_after;
    return std::all_of(after.begin(), after.end(), [&](size_t other) { return HasEnded(state, other); });
  }
  bool MayStep(const State& state, size_t actor) const {
    return !state.actors[actor].dead && state.actors[actor].calls_made < scripts_[actor].calls.size() &&
           HasStarted(state, actor);
  }

  // One atomic operation of the actor, and all that it does by itself up to the next.
  State AfterStep(State state, size_t index) {
    const Script& script = scripts_[index];
    Actor& actor = state.actors[index];
    stepped::Count count(&state.word, state.cells.data(), kOwners);
    const Verb verb = script.calls[actor.calls_made];
    bool reserved = false;
    try {
      stepped::Step step(actor.seen);
      switch (verb) {
        case Verb::kReserve:
          reserved = count.Reserve(script.owner, kLimit);
          break;
        case Verb::kRelease:
          if (actor.held > 0) count.Release(script.owner);
          break;
        case Verb::kJoin:
          count.SetMember(script.owner, true);
          break;
        case Verb::kLeave:
          count.SetMember(script.owner, false);
          break;
        case Verb::kReap:
          count.ReleaseAll(script.reaps);
          break;
        case Verb::kReapMember:
          count.SetMember(script.reaps, false);
          break;
        case Verb::kReadPart:
          count.part(script.reaps);
          break;
      }
    } catch (const stepped::Stopped&) {
      return state;
    }
    if (verb == Verb::kReserve) {
      reserved ? ++actor.held : ++refusals_;
    } else if (verb == Verb::kRelease && actor.held > 0) {
      --actor.held;
    } else if (verb == Verb::kReap) {
      for (size_t i = 0; i < scripts_.size(); ++i) {
        if (state.actors[i].dead && scripts_[i].owner == script.reaps) state.actors[i].held = 0;
      }
    }
    ++actor.calls_made;
    actor.seen.clear();
    return state;
  }

  // What holds at every instant, however everybody was stopped.
  void Check(const State& state) {
    const std::array<int64_t, kOwners> parts = PartsOf(state);
    const auto total = static_cast<int64_t>(Total(state.word.value));
    ASSERT_LE(total, int64_t{kLimit}) << "more than the bound";
    int64_t sum = 0;
    for (int64_t part : parts) sum += part;
    ASSERT_EQ(total, sum) << "the total isn't the sum of the parts";
    for (uint32_t owner = 0; owner < kOwners; ++owner) {
      int64_t least = 0;
      int64_t most = 0;
      for (size_t i = 0; i < scripts_.size(); ++i) {
        const Actor& actor = state.actors[i];
        const bool is_calling = !actor.seen.empty();
        const Verb verb = is_calling ? scripts_[i].calls[actor.calls_made] : Verb::kReadPart;
        if (scripts_[i].owner == owner) {
          least += actor.held - (verb == Verb::kRelease && actor.held > 0 ? 1 : 0);
          most += actor.held + (verb == Verb::kReserve ? 1 : 0);
          if (IsNowMember(i, actor)) {
            ASSERT_TRUE(IsMember(state.cells[owner].value)) << "membership was lost";
          }
        }
      }
      if (IsBeingReaped(state, owner)) least = 0;
      ASSERT_TRUE(parts[owner] >= least && parts[owner] <= most)
          << "owner " << owner << " has " << parts[owner] << ", not " << least << " to " << most;
    }
  }

  bool IsBeingReaped(const State& state, uint32_t owner) const {
    for (size_t i = 0; i < scripts_.size(); ++i) {
      const Actor& reaper = state.actors[i];
      if (!reaper.seen.empty() && scripts_[i].calls[reaper.calls_made] == Verb::kReap && scripts_[i].reaps == owner) {
        return true;
      }
    }
    return false;
  }

  // Whether a living actor has joined and not begun to leave.
  bool IsNowMember(size_t index, const Actor& actor) const {
    bool member = false;
    const std::vector<Verb>& calls = scripts_[index].calls;
    const size_t begun = actor.calls_made + (actor.seen.empty() ? 0 : 1);
    for (size_t i = 0; i < begun; ++i) {
      if (calls[i] == Verb::kJoin) member = i < actor.calls_made;
      if (calls[i] == Verb::kLeave) member = false;
    }
    return member && !actor.dead;
  }

  // Everybody has given back, or was reaped.
  void CheckEnd(const State& state) {
    ++ends_;
    ASSERT_EQ(Total(state.word.value), 0u);
    for (int64_t part : PartsOf(state)) ASSERT_EQ(part, 0);
    for (const stepped::Atomic& cell : state.cells) ASSERT_FALSE(IsMember(cell.value));
  }

  std::vector<Script> scripts_;
  std::vector<State> unexplored_;
  std::unordered_set<std::string> visited_;
  int ends_ = 0;
  int refusals_ = 0;
};

constexpr Verb kReserve = Verb::kReserve;
constexpr Verb kRelease = Verb::kRelease;
constexpr bool kKilled = true;
constexpr bool kLives = false;

TEST(CountModelTest, OwnersRace) {
  Explorer explorer({{0, {kReserve, kRelease}}, {1, {kReserve, kRelease}}, {2, {kReserve, kRelease}}});
  explorer.Run();
  EXPECT_GT(explorer.refusals(), 0) << "the bound was never tried";
}

TEST(CountModelTest, OwnersRaceTwice) {
  Explorer({{0, {kReserve, kRelease, kReserve, kRelease}}, {1, {kReserve, kRelease, kReserve, kRelease}}}).Run();
}

TEST(CountModelTest, ThreadsOfOneOwnerRace) {
  Explorer explorer({{0, {kReserve, kRelease}}, {0, {kReserve, kRelease}}, {1, {kReserve, kRelease}}});
  explorer.Run();
  EXPECT_GT(explorer.refusals(), 0);
}

TEST(CountModelTest, AnOwnerIsKilledAnywhereAndReaped) {
  Explorer explorer({{0, {kReserve, kReserve, kRelease}, kKilled},
                     {1, {kReserve, kRelease}},
                     {2, {Verb::kReap, kReserve, kRelease}, kLives, {0}, 0}});
  explorer.Run();
  EXPECT_GT(explorer.refusals(), 0);
}

TEST(CountModelTest, AnOwnerIsKilledAnywhereWhileTwoOthersRace) {
  Explorer({{0, {kReserve}, kKilled},
            {1, {kReserve, kRelease}},
            {2, {kReserve, kRelease}},
            {3, {Verb::kReap}, kLives, {0, 1, 2}, 0}})
      .Run();
}

TEST(CountModelTest, ThreadsOfAnOwnerAreKilledAnywhereAndReaped) {
  Explorer({{0, {kReserve}, kKilled},
            {0, {kReserve}, kKilled},
            {1, {kReserve, kRelease}},
            {2, {Verb::kReap}, kLives, {0, 1}, 0}})
      .Run();
}

TEST(CountModelTest, AReaperIsKilledAnywhereAndReapedWithItsVictim) {
  Explorer({{0, {kReserve}, kKilled},
            {1, {kReserve, Verb::kReap}, kKilled, {0}, 0},
            {2, {Verb::kReap}, kLives, {1}, 0},
            {2, {Verb::kReap}, kLives, {2}, 1},
            {3, {kReserve, kRelease}}})
      .Run();
}

// A slow settler may still be at the dead owner's operation when the column has its next owner.
TEST(CountModelTest, AReapedColumnIsUsedAgain) {
  Explorer({{0, {Verb::kJoin, kReserve}, kKilled},
            {1, {Verb::kReap, Verb::kReapMember}, kLives, {0}, 0},
            {0, {Verb::kJoin, kReserve, kRelease, Verb::kLeave}, kLives, {1}},
            {2, {kReserve, kRelease}}})
      .Run();
}

TEST(CountModelTest, MembershipChangesBesideCounts) {
  Explorer({{0, {Verb::kJoin, Verb::kLeave, Verb::kJoin, Verb::kLeave}},
            {0, {kReserve, kRelease}},
            {1, {kReserve, Verb::kReadPart, kRelease}, kLives, {}, 0}})
      .Run();
}

TEST(CountModelTest, NumbersOfOperationsWrap) {
  for (uint64_t number : {0xfffffffe, 0xfffffffd}) {
    Explorer({{0, {kReserve, kRelease}, kKilled}, {1, {kReserve, kRelease}}, {2, {Verb::kReap}, kLives, {0}, 0}},
             number)
        .Run();
  }
}

}  // namespace
}  // namespace prefixroute
