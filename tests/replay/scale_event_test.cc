// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/scale_event.h"

#include "gtest/gtest.h"

namespace prefixroute::replay {
namespace {

TEST(ScaleEventTest, ReadsWhatItWrites) {
  const absl::StatusOr<ScaleEvent> remove = ParseScaleEvent("300s:remove:3");
  ASSERT_TRUE(remove.ok()) << remove.status();
  EXPECT_EQ(remove->at_us, 300'000'000);
  EXPECT_EQ(remove->kind, ScaleEvent::Kind::kRemove);
  EXPECT_EQ(remove->instance, 3u);
  for (const char* text : {"5m:add", "1.5s:remove:0", "1h0.25s:restart:12"}) {
    const absl::StatusOr<ScaleEvent> event = ParseScaleEvent(text);
    ASSERT_TRUE(event.ok()) << event.status();
    EXPECT_EQ(ScaleEventText(*event), text);
  }
}

TEST(ScaleEventTest, RefusesWhatIsNone) {
  for (const char* text :
       {"", "add", "300:add", "300s", "300s:", "-5s:add", "300s:add:1", "300s:remove", "300s:remove:", "300s:remove:x",
        "300s:remove:-1", "300s:stop:1", "300s:restart:1:2", "inf:add"}) {
    EXPECT_EQ(ParseScaleEvent(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ScaleEventTest, AnInstanceMustBeThere) {
  using Kind = ScaleEvent::Kind;
  EXPECT_TRUE(CheckScaleEvents({}, 1).ok());
  EXPECT_TRUE(CheckScaleEvents({{1, Kind::kAdd, 0}, {2, Kind::kRemove, 0}, {3, Kind::kRestart, 1}}, 1).ok());
  EXPECT_FALSE(CheckScaleEvents({{1, Kind::kRemove, 0}}, 1).ok());
  EXPECT_FALSE(CheckScaleEvents({{1, Kind::kRestart, 2}}, 2).ok());
  EXPECT_FALSE(CheckScaleEvents({{1, Kind::kRemove, 1}, {2, Kind::kRestart, 1}}, 2).ok());
}

}  // namespace
}  // namespace prefixroute::replay
