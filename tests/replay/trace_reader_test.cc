// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/trace_reader.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/replay/line_reader.h"
#include "gtest/gtest.h"
#include "tests/replay/test_file.h"

namespace prefixroute::replay {
namespace {

constexpr char kHashLine[] = R"({"timestamp": 5, "input_length": 700, "output_length": 20, "hash_ids": [3, 9]})";
constexpr char kTextLine[] = R"({"timestamp": 5, "prompt": "abcdefgh", "output_bytes": 12})";

TraceFile Read(const std::string& path, const ReadOptions& options = {}) {
  Progress progress(Progress::Mode::kOff);
  absl::StatusOr<TraceFile> file = ReadTrace(path, options, &progress);
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? *std::move(file) : TraceFile();
}

absl::Status ReadError(const std::string& path) {
  Progress progress(Progress::Mode::kOff);
  return ReadTrace(path, {}, &progress).status();
}

TEST(TraceReaderTest, ReadsHashes) {
  const std::string path = WriteFile("trace", std::string(kHashLine) + "\n" +
                                                  R"({"hash_ids": [3, 4, 5], "input_length": 1536, "output_length": 0,)"
                                                  R"( "timestamp": 7.25, "model": "any"})" +
                                                  "\r\n\n" + kHashLine);  // CRLF, a blank line, no end of line.
  const TraceFile file = Read(path);
  EXPECT_EQ(file.bad_lines, 0u);
  EXPECT_EQ(file.disordered, 1u);
  EXPECT_EQ(file.trace.block_tokens, kHashBlockTokens);
  ASSERT_EQ(file.trace.requests.size(), 3u);
  const TraceRequest& first = file.trace.requests[0];
  EXPECT_EQ(first.arrival_us, 0);
  EXPECT_EQ(first.input_tokens, 700u);
  EXPECT_EQ(first.output_tokens, 20u);
  ASSERT_EQ(first.blocks.size(), 2u);
  const TraceRequest& last = file.trace.requests[2];
  EXPECT_EQ(last.arrival_us, 2250);
  ASSERT_EQ(last.blocks.size(), 3u);
  EXPECT_EQ(first.blocks[0], last.blocks[0]);
  EXPECT_NE(first.blocks[1], last.blocks[1]);
  EXPECT_EQ(file.trace.requests[1].blocks, first.blocks);
}

TEST(TraceReaderTest, ReadsText) {
  const std::string path = WriteFile(
      "trace", std::string(kTextLine) + "\n" + R"({"timestamp": 6, "prompt": "你好\u0000\n", "output_bytes": 0})");
  const TraceFile file = Read(path);
  EXPECT_EQ(file.bad_lines, 0u);
  EXPECT_EQ(file.trace.block_tokens, kTextBlockTokens);
  ASSERT_EQ(file.trace.requests.size(), 2u);
  EXPECT_EQ(file.trace.requests[0].text, "abcdefgh");
  EXPECT_EQ(file.trace.requests[0].input_tokens, 2u);
  EXPECT_EQ(file.trace.requests[0].output_tokens, 3u);
  EXPECT_EQ(file.trace.requests[1].text, std::string("你好\0\n", 8));
}

TEST(TraceReaderTest, CutsTextIntoBlocksOfTheGivenSize) {
  const std::string path =
      WriteFile("trace", R"({"timestamp": 5, "prompt": ")" + std::string(1000, 'a') + R"(", "output_bytes": 12})");
  for (const uint32_t block_tokens : {1, 16, 64, 250, 251}) {
    const Trace trace = Read(path, {0, block_tokens}).trace;
    ASSERT_EQ(trace.requests.size(), 1u);
    EXPECT_EQ(trace.block_tokens, block_tokens);
    EXPECT_EQ(trace.requests[0].blocks.size(), 250 / block_tokens);
    EXPECT_EQ(trace.FullBlocks(trace.requests[0]).size(), 250 / block_tokens);
  }
}

TEST(TraceReaderTest, ReadsGzipByContent) {
  std::string lines;
  for (int i = 0; i < 50'000; ++i) lines += std::string(kHashLine) + "\n";
  EXPECT_EQ(Read(WriteGzip("trace.jsonl", lines)).trace.requests.size(), 50'000u);
  EXPECT_EQ(Read(WriteFile("trace.gz", lines)).trace.requests.size(), 50'000u);
}

TEST(TraceReaderTest, StopsAtTheLimit) {
  const std::string path =
      WriteFile("trace", std::string(kHashLine) + "\n" + kHashLine + "\nnonsense\n" + kHashLine + "\n");
  EXPECT_EQ(Read(path, {2}).trace.requests.size(), 2u);
  EXPECT_EQ(Read(path, {2}).bad_lines, 0u);
  EXPECT_EQ(Read(path, {3}).trace.requests.size(), 3u);
  EXPECT_EQ(Read(path, {3}).bad_lines, 1u);
}

struct BadLine {
  std::string line;
  std::string why;
};

void ExpectBad(const std::string& good_line, const std::vector<BadLine>& cases) {
  for (const BadLine& bad : cases) {
    const std::string path = WriteFile("trace", absl::StrCat(good_line, "\n", bad.line, "\n", good_line, "\n"));
    const TraceFile file = Read(path);
    EXPECT_EQ(file.trace.requests.size(), 2u) << bad.line;
    EXPECT_EQ(file.bad_lines, 1u) << bad.line;
    ASSERT_EQ(file.bad_line_reasons.size(), 1u) << bad.line;
    EXPECT_EQ(file.bad_line_reasons[0], path + ":2: " + bad.why);
  }
}

TEST(TraceReaderTest, NamesWhatIsWrongWithJson) {
  ExpectBad(kHashLine,
            {
                {"nonsense", "not JSON, at byte 2: invalid literal"},
                {R"({"timestamp": 5)", "not JSON, at byte 16: unexpected end of input"},
                {std::string(kHashLine) + "}", "not JSON, at byte 79: unexpected '}'"},
                {"{\"prompt\": \"secret \xff\"}", "not JSON, at byte 20: invalid string: ill-formed UTF-8 byte"},
                {"{\"prompt\": \"secret \xc3", "not JSON, at byte 21: invalid string: ill-formed UTF-8 byte"},
                {std::string("{\0}", 3), "not JSON, at byte 2: unexpected end of input"},
                {R"({"timestamp": 1e999})", "a number is out of range"},
                {"[]", "array is not a JSON object"},
                {"17", "17 is not a JSON object"},
                {"null", "null is not a JSON object"},
                {std::string(100'000, '['), "not JSON, at byte 100001: unexpected end of input"},
            });
}

TEST(TraceReaderTest, NamesTheFieldOfBadHashes) {
  ExpectBad(
      kHashLine,
      {
          {R"({"input_length": 7, "output_length": 1, "hash_ids": [1]})", "timestamp: missing"},
          {R"({"timestamp": -1, "input_length": 7, "output_length": 1, "hash_ids": [1]})",
           "timestamp: -1 is not a number from 0 to 10000000000000"},
          {R"({"timestamp": "now", "input_length": 7, "output_length": 1, "hash_ids": [1]})",
           "timestamp: string is not a number from 0 to 10000000000000"},
          {R"({"timestamp": 1e14, "input_length": 7, "output_length": 1, "hash_ids": [1]})",
           "timestamp: 100000000000000.0 is not a number from 0 to 10000000000000"},
          {R"({"timestamp": 5, "output_length": 1, "hash_ids": [1]})", "input_length: missing"},
          {R"({"timestamp": 5, "input_length": -7, "output_length": 1, "hash_ids": [1]})",
           "input_length: -7 is not an integer from 0 to 1073741824"},
          {R"({"timestamp": 5, "input_length": 7.5, "output_length": 1, "hash_ids": [1]})",
           "input_length: 7.5 is not an integer from 0 to 1073741824"},
          {R"({"timestamp": 5, "input_length": 1073741825, "output_length": 1, "hash_ids": [1]})",
           "input_length: 1073741825 is not an integer from 0 to 1073741824"},
          {R"({"timestamp": 5, "input_length": null, "output_length": 1, "hash_ids": [1]})",
           "input_length: null is not an integer from 0 to 1073741824"},
          {R"({"timestamp": 5, "input_length": 7, "hash_ids": [1]})", "output_length: missing"},
          {R"({"timestamp": 5, "input_length": 7, "output_length": -1, "hash_ids": [1]})",
           "output_length: -1 is not an integer from 0 to 1073741824"},
          {R"({"timestamp": 5, "input_length": 7, "output_length": true, "hash_ids": [1]})",
           "output_length: true is not an integer from 0 to 1073741824"},
          {R"({"timestamp": 5, "input_length": 7, "output_length": 1})", "has neither hash_ids nor prompt"},
          {R"({"timestamp": 5, "input_length": 7, "output_length": 1, "hash_ids": 1})", "hash_ids: 1 is not an array"},
          {R"({"timestamp": 5, "input_length": 7, "output_length": 1, "hash_ids": []})",
           "hash_ids: 0 ids, but input_length 7 makes 1 blocks of 512"},
          {R"({"timestamp": 5, "input_length": 512, "output_length": 1, "hash_ids": [1, 2]})",
           "hash_ids: 2 ids, but input_length 512 makes 1 blocks of 512"},
          {R"({"timestamp": 5, "input_length": 0, "output_length": 1, "hash_ids": [1]})",
           "hash_ids: 1 ids, but input_length 0 makes 0 blocks of 512"},
          {R"({"timestamp": 5, "input_length": 7, "output_length": 1, "hash_ids": [-1]})",
           "hash_ids: -1 is not an integer of 64 bits, 0 or more"},
          {R"({"timestamp": 5, "input_length": 7, "output_length": 1, "hash_ids": ["1"]})",
           "hash_ids: string is not an integer of 64 bits, 0 or more"},
          {R"({"timestamp": 5, "input_length": 7, "output_length": 1, "hash_ids": [18446744073709551616]})",
           "hash_ids: 1.8446744073709552e+19 is not an integer of 64 bits, 0 or more"},
          {R"({"timestamp": 5, "prompt": "a", "output_bytes": 1, "hash_ids": [1]})", "has both hash_ids and prompt"},
          {kTextLine, "prompt: the lines before have hash_ids"},
      });
}

TEST(TraceReaderTest, NamesTheFieldOfBadText) {
  ExpectBad(kTextLine, {
                           {R"({"prompt": "a", "output_bytes": 1})", "timestamp: missing"},
                           {R"({"timestamp": 5, "prompt": "a"})", "output_bytes: missing"},
                           {R"({"timestamp": 5, "prompt": "a", "output_bytes": -1})",
                            "output_bytes: -1 is not an integer from 0 to 4294967296"},
                           {R"({"timestamp": 5, "prompt": "a", "output_bytes": "1"})",
                            "output_bytes: string is not an integer from 0 to 4294967296"},
                           {R"({"timestamp": 5, "prompt": ["a"], "output_bytes": 1})", "prompt: array is not a string"},
                           {R"({"timestamp": 5, "prompt": 17, "output_bytes": 1})", "prompt: 17 is not a string"},
                           {kHashLine, "hash_ids: the lines before have prompt"},
                       });
}

TEST(TraceReaderTest, ABadFirstLineDoesNotDecideTheForm) {
  const TraceFile file = Read(WriteFile("trace", R"({"timestamp": 5, "prompt": 17})" + std::string("\n") + kHashLine));
  EXPECT_EQ(file.bad_lines, 1u);
  EXPECT_EQ(file.trace.block_tokens, kHashBlockTokens);
}

TEST(TraceReaderTest, DescribesTheFirstBadLinesAndCountsAll) {
  std::string lines = std::string(kHashLine) + "\n";
  for (int i = 0; i < 25; ++i) lines += "nonsense\n";
  const std::string path = WriteFile("trace", lines + kHashLine);
  const TraceFile file = Read(path);
  EXPECT_EQ(file.trace.requests.size(), 2u);
  EXPECT_EQ(file.bad_lines, 25u);
  ASSERT_EQ(file.bad_line_reasons.size(), kBadLinesDescribed);
  EXPECT_EQ(file.bad_line_reasons.back(), path + ":11: not JSON, at byte 2: invalid literal");
}

TEST(TraceReaderTest, SkipsAnOverlongLine) {
  const std::string text(kMaxLineBytes, 'x');
  const std::string path = WriteGzip("trace", std::string(kTextLine) + "\n" + text + "y\n" + kTextLine + "\n");
  const TraceFile file = Read(path);
  EXPECT_EQ(file.trace.requests.size(), 2u);
  EXPECT_EQ(file.bad_line_reasons,
            std::vector<std::string>{path + ":2: longer than " + std::to_string(kMaxLineBytes) + " bytes"});
}

TEST(TraceReaderTest, ReadsALineOfTheGreatestLength) {
  const std::string rest = R"({"timestamp": 5, "output_bytes": 12, "prompt": ""})";
  const std::string text(kMaxLineBytes - rest.size(), 'x');
  const TraceFile file = Read(WriteGzip("trace", rest.substr(0, rest.size() - 2) + text + "\"}\n"));
  ASSERT_EQ(file.trace.requests.size(), 1u);
  EXPECT_EQ(file.trace.requests[0].text.size(), text.size());
}

std::string VariedLines(int count) {
  std::string lines;
  uint64_t id = 1;
  for (int i = 0; i < count; ++i) {
    id = ChainBlock(id, i);  // Does not compress well, so that much of the file is data.
    lines +=
        R"({"timestamp": 5, "input_length": 700, "output_length": 20, "hash_ids": [3, )" + std::to_string(id) + "]}\n";
  }
  return lines;
}

TEST(TraceReaderTest, KeepsWhatStandsBeforeTheEndOfTruncatedGzip) {
  const std::string whole = ReadFile(WriteGzip("whole", VariedLines(20'000)));
  size_t requests_before = 0;
  for (const size_t part : {3, 2}) {
    const std::string path = WriteFile("truncated", whole.substr(0, whole.size() / part));
    const TraceFile file = Read(path);
    const size_t requests = file.trace.requests.size();
    EXPECT_GT(requests, requests_before);
    EXPECT_LT(requests, 20'000u);
    EXPECT_EQ(file.bad_line_reasons, std::vector<std::string>{path + ":" + std::to_string(requests + 1) +
                                                              ": gzip data is truncated or broken; the rest is lost"});
    requests_before = requests;
  }
  // Only the checksum at the end is missing: no line is.
  EXPECT_EQ(Read(WriteFile("truncated", whole.substr(0, whole.size() - 4))).trace.requests.size(), 20'000u);
  EXPECT_EQ(Read(WriteFile("truncated", whole.substr(0, whole.size() - 4))).bad_lines, 1u);
}

TEST(TraceReaderTest, SurvivesBrokenGzip) {
  std::string broken = ReadFile(WriteGzip("whole", VariedLines(20'000)));
  for (size_t i = broken.size() / 2; i < broken.size() / 2 + 64; ++i) broken[i] = static_cast<char>(~broken[i]);
  const TraceFile file = Read(WriteFile("broken", broken));
  EXPECT_GT(file.trace.requests.size(), 0u);
  EXPECT_GT(file.bad_lines, 0u);
}

TEST(TraceReaderTest, RefusesWhatCannotBeRead) {
  const std::string missing = TestPath("missing");
  EXPECT_EQ(ReadError(missing).message(), missing + ": cannot be read: No such file or directory");
  EXPECT_EQ(ReadError(testing::TempDir()).message(), testing::TempDir() + ": cannot be read: Is a directory");
}

TEST(TraceReaderTest, RefusesAFileWithoutRequests) {
  const std::string empty = WriteFile("empty", "");
  EXPECT_EQ(ReadError(empty).message(), empty + ": no request in it, 0 bad lines");
  const std::string bad = WriteFile("bad", "\n[]\n[]\n");
  EXPECT_EQ(ReadError(bad).message(),
            bad + ": no request in it, 2 bad lines, the first: " + bad + ":2: array is not a JSON object");
}

}  // namespace
}  // namespace prefixroute::replay
