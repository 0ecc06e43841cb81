// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/line_reader.h"

#include <zlib.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace prefixroute::replay {
namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;

absl::Status CannotRead(const std::string& path, int error) {
  return absl::NotFoundError(absl::StrFormat("%s: cannot be read: %s", path, std::generic_category().message(error)));
}

}  // namespace

void LineReader::Close::operator()(gzFile_s* file) const { gzclose_r(file); }

absl::StatusOr<LineReader> LineReader::Open(const std::string& path) {
  errno = 0;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return CannotRead(path, errno == 0 ? ENOMEM : errno);
  gzbuffer(file, kBufferBytes);
  LineReader reader(path, file);
  reader.buffer_.resize(kBufferBytes);
  return reader;
}

absl::StatusOr<LineReader::Outcome> LineReader::Next(std::string* line) {
  line->clear();
  if (over_) return Outcome::kEnd;
  bool any = false;
  bool too_long = false;
  while (true) {
    if (begin_ == end_) {
      errno = 0;
      const int count = gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
      const int read_errno = errno;
      if (count <= 0) {
        over_ = true;
        int error = Z_OK;
        gzerror(file_.get(), &error);
        if (error == Z_ERRNO) return CannotRead(path_, read_errno);
        if (error != Z_OK && error != Z_STREAM_END) return Outcome::kDamaged;
        if (too_long) return Outcome::kTooLong;
        return any ? Outcome::kLine : Outcome::kEnd;
      }
      begin_ = 0;
      end_ = static_cast<size_t>(count);
    }
    any = true;
    const char* start = buffer_.data() + begin_;
    const void* newline = std::memchr(start, '\n', end_ - begin_);
    const size_t length = newline != nullptr ? static_cast<const char*>(newline) - start : end_ - begin_;
    if (line->size() + length > kMaxLineBytes) too_long = true;
    if (too_long) {
      line->clear();
    } else {
      line->append(start, length);
    }
    begin_ += length;
    if (newline != nullptr) {
      ++begin_;
      return too_long ? Outcome::kTooLong : Outcome::kLine;
    }
  }
}

}  // namespace prefixroute::replay
