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

// The table without its last column, the only one that a clock decides.
std::vector<std::string> Rows(const std::string& out) {
  std::vector<std::string> rows;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("RANDOM") == 0 || line.find("LEAST_OUTSTANDING_REQUESTS") == 0 || line.find("PREFIX_AWARE") == 0) {
      rows.push_back(line.substr(0, line.find_last_of(' ')));
      rows.back().erase(rows.back().find_last_not_of(' ') + 1);
    }
  }
  return rows;
}

TEST(ReplayProgramTest, AloneItPrintsATable) {
  const Outcome run = RunProgram("");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_NE(run.out.find("64 generated applications: 2000 requests"), std::string::npos) << run.out;
  EXPECT_EQ(Rows(run.out).size(), 7u) << run.out;
}

TEST(ReplayProgramTest, TheSameSeedPrintsTheSameTable) {
  const Outcome run = RunProgram("--limit=300 --max_prefix_tokens=1024");
  EXPECT_EQ(run.err, "");
  ASSERT_EQ(Rows(run.out).size(), 3u) << run.out;
  EXPECT_EQ(Rows(run.out), Rows(RunProgram("--limit=300 --max_prefix_tokens=1024 --seed=1").out));
  EXPECT_NE(Rows(run.out), Rows(RunProgram("--limit=300 --max_prefix_tokens=1024 --seed=2").out));
}

TEST(ReplayProgramTest, AFlagHasARowForEachOfItsValues) {
  const Outcome run = RunProgram("--limit 50 --strategies=PREFIX_AWARE,RANDOM --max_prefix_tokens 16,32,64");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const std::vector<std::string> rows = Rows(run.out);
  ASSERT_EQ(rows.size(), 4u) << run.out;
  EXPECT_NE(rows[1].find("32 tokens"), std::string::npos);
  EXPECT_EQ(rows[3].find("RANDOM"), 0u);
}

TEST(ReplayProgramTest, EachFileHasItsTable) {
  const std::string hashes =
      WriteGzip("hashes", R"({"timestamp": 5, "input_length": 700, "output_length": 20, "hash_ids": [3, 9]})");
  const std::string text = WriteFile("text", R"({"timestamp": 5, "prompt": "abcdefgh", "output_bytes": 12})");
  const Outcome run = RunProgram("'" + hashes + "' '" + text + "'");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find(hashes + ": 1 requests, 700 input tokens"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find(text + ": 1 requests, 2 input tokens"), std::string::npos) << run.out;
  EXPECT_EQ(Rows(run.out).size(), 14u);
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
  EXPECT_NE(run.out.find(path + " without its 12 bad lines, 1 out of order and sorted by time: 2 requests"),
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
           {"--strategies=RANDOM,FASTEST",
            "--strategies: \"FASTEST\" is none of RANDOM, LEAST_OUTSTANDING_REQUESTS, PREFIX_AWARE"},
           {"--strategies=", "--strategies: names none"},
           {"--max_prefix_tokens=", "--max_prefix_tokens: names none"},
           {"--max_prefix_tokens=512,0", "--max_prefix_tokens: \"0\" is not an integer from 1 to 268435456"},
           {"--max_prefix_tokens=512,", "--max_prefix_tokens: \"\" is not an integer from 1 to 268435456"},
           {"--max_prefix_tokens=268435457",
            "--max_prefix_tokens: \"268435457\" is not an integer from 1 to 268435456"},
           {"--relative_bound_factor_percent=99", "--relative_bound_factor_percent=99: must be from 100 to 100000"},
           {"--relative_bound_margin=1048576", "--relative_bound_margin=1048576: must be from 0 to 1048575"},
           {"--relative_bound_floor=1048576", "--relative_bound_floor=1048576: must be from 0 to 1048575"},
           {"--max_outstanding=1048576", "--max_outstanding=1048576: must be from 0 to 1048575"},
           {"--speed=0", "--speed=0: must be from 0.01 to 1e+06"},
           {"--speed=nan", "--speed=nan: must be from 0.01 to 1e+06"},
           {"--block_tokens=0", "--block_tokens=0: must be from 1 to 1073741824"},
           {"--rate=-1", "--rate=-1: must be from 0.001 to 1e+06"},
           {"--applications=0", "--applications=0: must be from 1 to 1000000"},
           {"--decode_us_per_token=1000001", "--decode_us_per_token=1000001: must be from 0 to 1000000"},
           {"--prefill_us_per_token=1000001", "--prefill_us_per_token=1000001: must be from 0 to 1000000"},
           {"--cache_tokens=-5", "--cache_tokens=-5: not a valid value"},
           {"--limit=1000001", "--limit=1000001: at most 1000000 requests are generated"},
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
  for (const char* flag : {"--instances=8", "--strategies=", "--max_prefix_tokens=", "--relative_bound_floor=8",
                           "--cache_tokens=0", "--speed=1", "--seed=1", "--applications=64", "--rate=20"}) {
    EXPECT_NE(run.out.find(flag), std::string::npos) << flag;
  }
}

TEST(ReplayProgramTest, AHardBoundRefuses) {
  const Outcome run = RunProgram("--limit=200 --instances=2 --max_outstanding=1 --strategies=RANDOM");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  ASSERT_EQ(Rows(run.out).size(), 1u);
  std::istringstream words(Rows(run.out)[0]);
  std::string strategy, limit, hit_rate, share, busiest, idlest, diverted;
  int refused = 0;
  words >> strategy >> limit >> hit_rate >> share >> busiest >> idlest >> diverted >> refused;
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 200);
}

}  // namespace
}  // namespace prefixroute::replay
