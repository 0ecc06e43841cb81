// SPDX-License-Identifier: Apache-2.0
//
// The lines of a file, plain or gzip, told apart by content.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_LINE_READER_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_LINE_READER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

struct gzFile_s;

namespace prefixroute::replay {

// 16 million tokens.
inline constexpr size_t kMaxLineBytes = size_t{64} << 20;

class LineReader {
 public:
  enum class Outcome {
    kLine,
    kTooLong,  // Longer than kMaxLineBytes; it was skipped.
    kDamaged,  // The gzip data is truncated or broken here; what follows is lost.
    kEnd,
  };

  static absl::StatusOr<LineReader> Open(const std::string& path);

  // Puts the next line, without its end, into `line`. An error where the file can't be read.
  absl::StatusOr<Outcome> Next(std::string* line);

 private:
  struct Close {
    void operator()(gzFile_s* file) const;
  };

  LineReader(std::string path, gzFile_s* file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // What is read and not yet given out: [begin_, end_) of buffer_.
  size_t end_ = 0;
  bool over_ = false;
};

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_LINE_READER_H_
