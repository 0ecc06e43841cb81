// SPDX-License-Identifier: Apache-2.0
//
// Runs prefixroute_replay as a user does.

#include <sys/wait.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/replay/test_file.h"

namespace prefixroute::replay {
namespace {

struct Outcome {
  int exit_code;
  std::string out;
  std::string err;
};

// Takes no more; reading it never ends.
constexpr char kFullDevice[] = "/dev/full";

Outcome RunProgram(const std::string& arguments, const std::string& out = TestPath("out")) {
  const std::string err = TestPath("err");
  const std::string command = "'" REPLAY_PROGRAM "' " + arguments + " >'" + out + "' 2>'" + err + "'";
  const int status = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out == kFullDevice ? "" : ReadFile(out), ReadFile(err)};
}

// The rows of all tables.
std::vector<std::string> Rows(const std::string& out) {
  std::vector<std::string> rows;
  std::istringstream lines(out);
  bool in_table = false;
  for (std::string line; std::getline(lines, line);) {
    if (in_table && !line.empty()) rows.push_back(line);
    if (line.empty()) in_table = false;
    if (line.rfind("rule ", 0) == 0) in_table = true;
  }
  return rows;
}

// Without the last column, which is measured by the clock.
std::vector<std::string> Figures(const std::string& out) {
  std::vector<std::string> rows = Rows(out);
  for (std::string& row : rows) row.resize(row.find_last_not_of(' ', row.find_last_of(' ')) + 1);
  return rows;
}

TEST(ReplayProgramTest, AloneItPrintsATable) {
  const Outcome run = RunProgram("--seconds=60");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("generated 450 applications of 8000 tokens, 10 requests a second: "), std::string::npos)
      << run.out;
  EXPECT_EQ(Rows(run.out).size(), 8u) << run.out;
}

TEST(ReplayProgramTest, TheSameSeedPrintsTheSame) {
  const Outcome run = RunProgram("--limit=300 --gateways=2");
  EXPECT_EQ(run.err, "");
  ASSERT_EQ(Rows(run.out).size(), 8u) << run.out;
  EXPECT_EQ(Figures(run.out), Figures(RunProgram("--limit=300 --gateways=2 --seed=1").out));
  EXPECT_NE(Figures(run.out), Figures(RunProgram("--limit=300 --gateways=2 --seed=2").out));
}

TEST(ReplayProgramTest, AFlagHasARowForEachOfItsValues) {
  const Outcome run = RunProgram("--limit 50 --rules=strict,random --max_prefix_tokens 16,32,64");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const std::vector<std::string> rows = Rows(run.out);
  ASSERT_EQ(rows.size(), 4u) << run.out;
  EXPECT_EQ(rows[1].find("strict_32 "), 0u);
  EXPECT_EQ(rows[3].find("random "), 0u);
}

TEST(ReplayProgramTest, CompareRunsAllRules) {
  const std::string path = WriteFile(
      "chat", R"({"timestamp": 5, "prompt": "[{\"role\": \"user\", \"content\": \"hi\"}]", "output_bytes": 12})");
  EXPECT_EQ(Rows(RunProgram("--compare '" + path + "'").out).size(), 15u);
  // Where no prompt is a chat, one rule has nothing to go by.
  EXPECT_EQ(Rows(RunProgram("--compare --limit=50 --max_prefix_tokens=64").out).size(), 10u);
}

TEST(ReplayProgramTest, WorkloadsAreChosenByName) {
  const Outcome run = RunProgram("--workload=short_context --seconds=30 --turns=3 --rate=5 --rules=random");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("generated conversations of 3 turns, 5 requests a second: "), std::string::npos) << run.out;
}

TEST(ReplayProgramTest, ScaleEventsAreReported) {
  const Outcome run = RunProgram("--seconds=120 --rules=random,prefix_tree --event=90s:remove:3,1m:add");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("At 1m:add\nAt 1m30s:remove:3\n"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("prefix_tree        1m:add: hits 0."), std::string::npos) << run.out;
}

TEST(ReplayProgramTest, TheSeedsTableStandsBesideThePublishedFigures) {
  const Outcome run = RunProgram("--seeds_table --seconds=60");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("long context: "), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("short context: "), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("7 instances"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("25 to 82 %"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("Chosen so that RANDOM hits as published"), std::string::npos) << run.out;
}

TEST(ReplayProgramTest, WritesAPage) {
  const std::string path = TestPath("html");
  const Outcome run = RunProgram("--limit=100 --rules=random --html='" + path + "'");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(ReadFile(path).rfind("<!DOCTYPE html>", 0), 0u);
}

TEST(ReplayProgramTest, WritesJson) {
  const std::string path = TestPath("json");
  const Outcome run = RunProgram("--limit=100 --rules=random --json='" + path + "'");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(ReadFile(path).find("\"rule\": \"random\""), std::string::npos);
  const Outcome full = RunProgram("--limit=100 --rules=random --json=/dev/full");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_EQ(full.err, "prefixroute_replay: /dev/full: cannot be written\n");
}

TEST(ReplayProgramTest, SaysBeforeTheRunThatAReportCannotBeWritten) {
  for (const char* flag : {"--json", "--html"}) {
    const Outcome run = RunProgram(std::string("--limit=100 --rules=random ") + flag + "=/nowhere/report");
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_EQ(run.err, "prefixroute_replay: /nowhere/report: cannot be written\n");
    EXPECT_EQ(run.out, "");
  }
}

TEST(ReplayProgramTest, RefusesAWarmUpThatLeavesNothing) {
  const Outcome run = RunProgram("--limit=100 --rules=random --warm_up=9999");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.err.rfind("prefixroute_replay: --warm_up=9999: ends after the last request of generated ", 0), 0u)
      << run.err;
}

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

TEST(ReplayProgramTest, EachFileHasItsTable) {
  const std::string hashes =
      WriteGzip("hashes", R"({"timestamp": 5, "input_length": 700, "output_length": 20, "hash_ids": [3, 9]})");
  const std::string text = WriteFile("text", R"({"timestamp": 5, "prompt": "abcdefgh", "output_bytes": 12})");
  const Outcome run = RunProgram("'" + hashes + "' '" + text + "'");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find(NameOf(hashes) + ": 1 requests, 700 input tokens"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find(NameOf(text) + ": 1 requests, 2 input tokens"), std::string::npos) << run.out;
  EXPECT_EQ(Rows(run.out).size(), 16u);
}

TEST(ReplayProgramTest, ABrokenFileIsReplayedWithoutItsBadLines) {
  std::string lines = R"({"timestamp": 5, "prompt": "abcdefgh", "output_bytes": 12})";
  for (int i = 0; i < 12; ++i) lines += "\nnonsense";
  lines +=
      "\n"
      R"({"timestamp": 4, "prompt": "abcdefgh", "output_bytes": 12})";
  const std::string path = WriteFile("broken", lines);
  const Outcome run = RunProgram("'" + path + "'");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_NE(run.out.find(NameOf(path) + " without its 12 bad lines, 1 out of order and sorted by time: 2 requests"),
            std::string::npos)
      << run.out;
  EXPECT_EQ(run.err.find(path + ":2: not JSON, at byte 2: invalid literal\n"), 0u) << run.err;
  EXPECT_NE(run.err.find(path + ":11: "), std::string::npos) << run.err;
  EXPECT_EQ(run.err.find(path + ":12: "), std::string::npos) << run.err;
  EXPECT_NE(run.err.find(path + ": 2 more bad lines\n"), std::string::npos) << run.err;
}

TEST(ReplayProgramTest, AFileThatCannotBeReplayedFails) {
  const std::string missing = TestPath("missing");
  Outcome run = RunProgram("'" + missing + "'");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.err, "prefixroute_replay: " + missing + ": cannot be read: No such file or directory\n");
  const std::string empty = WriteFile("empty", "");
  run = RunProgram("'" + empty + "'");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.err, "prefixroute_replay: " + empty + ": no request in it, 0 bad lines\n");
}

TEST(ReplayProgramTest, OutputThatCannotBeWrittenFails) {
  const Outcome run = RunProgram("--limit=10", kFullDevice);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.err, "prefixroute_replay: standard output: cannot be written\n");
}

TEST(ReplayProgramTest, NamesTheBadFlagAndItsValue) {
  struct Case {
    std::string arguments;
    std::string error;
  };
  for (const Case& bad : std::vector<Case>{
           {"--instances=0", "--instances=0: must be from 1 to 65536"},
           {"--instances=65537", "--instances=65537: must be from 1 to 65536"},
           {"--instances=many", "--instances=many: not a valid value"},
           {"--instances=-1", "--instances=-1: not a valid value"},
           {"--instances=", "--instances=: not a valid value"},
           {"--instances", "--instances: has no value"},
           {"--seeds=1", "--seeds=1: there is no such flag; --help lists them"},
           {"-x", "-x: there is no such flag; --help lists them"},
           {"--rules=random,fastest",
            "--rules: \"fastest\" is none of round_robin, random, least_outstanding, bounded_hash, bounded_hash_user, "
            "prefix_tree, prefix_score, precise, precise_2, strict, prefix_aware"},
           {"--rules=", "--rules: names none"},
           {"--rules=strict --max_prefix_tokens=", "--rules: names none"},
           {"--gateways=0", "--gateways=0: must be from 1 to 1024"},
           {"--workload=tiny", "--workload=tiny: must be long_context or short_context"},
           {"--event=5s:remove:8", "--event: 5s:remove:8: there is no instance 8 then"},
           {"--event=5:add", "--event: \"5:add\" is none of 300s:add, 300s:remove:INSTANCE, 300s:restart:INSTANCE"},
           {"--max_sequences=9000", "--max_sequences=9000: must be from 1 to 8192"},
           {"--seeds_table trace.jsonl", "--seeds_table: takes no trace, but there is trace.jsonl"},
           {"--warm_up=-1", "--warm_up=-1: must be from 0 to 1e+06"},
           {"--step_us=0", "--step_us=0: must be from 1 to 1e+09"},
           {"--max_prefix_tokens=512,0", "--max_prefix_tokens: \"0\" is not an integer from 1 to 4194304"},
           {"--max_prefix_tokens=512,", "--max_prefix_tokens: \"\" is not an integer from 1 to 4194304"},
           {"--max_prefix_tokens=4194305", "--max_prefix_tokens: \"4194305\" is not an integer from 1 to 4194304"},
           {"--report=-1", "--report=-1: must be from 0 to 1e+06"},
           {"--relative_bound_factor_percent=99", "--relative_bound_factor_percent=99: must be from 100 to 100000"},
           {"--relative_bound_margin=1048576", "--relative_bound_margin=1048576: must be from 0 to 1048575"},
           {"--relative_bound_floor=1048576", "--relative_bound_floor=1048576: must be from 0 to 1048575"},
           {"--max_outstanding=1048576", "--max_outstanding=1048576: must be from 0 to 1048575"},
           {"--speed=0", "--speed=0: must be from 0.01 to 1e+06"},
           {"--speed=nan", "--speed=nan: must be from 0.01 to 1e+06"},
           {"--block_tokens=0", "--block_tokens=0: must be from 1 to 1073741824"},
           {"--rate=-1", "--rate=-1: must be from 0 to 1e+06"},
           {"--applications=0", "--applications=0: must be from 1 to 1000000"},
           {"--prefill_us_per_token=-1", "--prefill_us_per_token=-1: must be from 0 to 1e+09"},
           {"--cache_tokens=-5", "--cache_tokens=-5: not a valid value"},
           {"--rate=1000",
            "--rate=1000: makes 3600000 requests, more than the 2000000 that are generated at most; set --seconds or "
            "--limit"},
           {"--progress=maybe", "--progress=maybe: not a valid value"},
       }) {
    const Outcome run = RunProgram(bad.arguments);
    EXPECT_EQ(run.exit_code, 2) << bad.arguments;
    EXPECT_EQ(run.err, "prefixroute_replay: " + bad.error + "\n");
    EXPECT_EQ(run.out, "") << bad.arguments;
  }
}

TEST(ReplayProgramTest, HelpListsTheFlags) {
  const Outcome run = RunProgram("--help");
  EXPECT_EQ(run.exit_code, 0);
  for (const char* flag : {"--instances=8", "--rules=", "--max_prefix_tokens=", "--relative_bound_floor=16",
                           "--cache_tokens=1300000", "--speed=1", "--seed=1", "--applications=450", "--rate=0"}) {
    EXPECT_NE(run.out.find(flag), std::string::npos) << flag;
  }
}

TEST(ReplayProgramTest, AHardBoundRefuses) {
  const Outcome run = RunProgram("--limit=200 --instances=2 --max_outstanding=1 --rules=random");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  ASSERT_EQ(Rows(run.out).size(), 1u);
  std::istringstream words(Rows(run.out)[0]);
  std::string word;
  for (int column = 0; column < 12; ++column) words >> word;
  int refused = 0;
  words >> refused;
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 200);
}

TEST(ReplayProgramTest, AnEventAfterTheLastRequestIsNamed) {
  const Outcome run = RunProgram("--seconds=10 --event=20s:add");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.err.rfind("prefixroute_replay: --event: 20s:add: comes after the last request of generated", 0), 0u)
      << run.err;
}

}  // namespace
}  // namespace prefixroute::replay
