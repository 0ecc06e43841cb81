// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/trace_reader.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "benchmarks/replay/line_reader.h"
#include "nlohmann/json.hpp"

namespace prefixroute::replay {
namespace {

using Json = nlohmann::json;

// The year 2286, where timestamps count from 1970.
constexpr double kMaxTimestampMs = 1e13;
constexpr size_t kQuotedBytes = 40;

enum class Form { kHashes, kText };

// As much of the value as fits in a message, in ASCII.
std::string Quote(const Json& value) {
  if (value.is_structured() || value.is_string()) return value.type_name();
  return value.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, kQuotedBytes);
}

// What the parser says without the text it read, which may be long and private:
// "[json.exception.parse_error.101] parse error at line 1, column 9: syntax error while ... - WHY; last read: '...'".
std::string ParserReason(const Json::exception& error) {
  std::string reason = error.what();
  const size_t start = reason.find(" - ");
  if (start == std::string::npos) return "";
  reason.erase(0, start + 3);
  reason.resize(std::min({reason.size(), reason.find("; last read"), reason.find("; expected")}));
  return ": " + reason;
}

absl::Status Bad(const std::string& why) { return absl::InvalidArgumentError(why); }

absl::StatusOr<const Json*> Field(const Json& line, const char* name) {
  const auto field = line.find(name);
  if (field == line.end()) return Bad(absl::StrFormat("%s: missing", name));
  return &*field;
}

absl::StatusOr<uint64_t> IntegerField(const Json& line, const char* name, uint64_t max) {
  const absl::StatusOr<const Json*> field = Field(line, name);
  if (!field.ok()) return field.status();
  if (!(*field)->is_number_unsigned() || (*field)->get<uint64_t>() > max) {
    return Bad(absl::StrFormat("%s: %s is not an integer from 0 to %d", name, Quote(**field), max));
  }
  return (*field)->get<uint64_t>();
}

absl::StatusOr<int64_t> TimestampUs(const Json& line) {
  const absl::StatusOr<const Json*> field = Field(line, "timestamp");
  if (!field.ok()) return field.status();
  const double ms = (*field)->is_number() ? (*field)->get<double>() : -1;
  if (!(ms >= 0 && ms <= kMaxTimestampMs)) {
    return Bad(absl::StrFormat("timestamp: %s is not a number from 0 to %.0f", Quote(**field), kMaxTimestampMs));
  }
  return std::llround(ms * 1000);
}

absl::Status ParseHashes(const Json& line, TraceRequest* request) {
  const absl::StatusOr<uint64_t> input_tokens = IntegerField(line, "input_length", kMaxTokens);
  if (!input_tokens.ok()) return input_tokens.status();
  const absl::StatusOr<uint64_t> output_tokens = IntegerField(line, "output_length", kMaxTokens);
  if (!output_tokens.ok()) return output_tokens.status();
  const Json& hash_ids = line["hash_ids"];
  if (!hash_ids.is_array()) return Bad(absl::StrFormat("hash_ids: %s is not an array", Quote(hash_ids)));
  const uint64_t blocks = (*input_tokens + kHashBlockTokens - 1) / kHashBlockTokens;
  if (hash_ids.size() != blocks) {
    return Bad(absl::StrFormat("hash_ids: %d ids, but input_length %d makes %d blocks of %d", hash_ids.size(),
                               *input_tokens, blocks, kHashBlockTokens));
  }
  request->blocks.reserve(blocks);
  BlockId id = 0;
  for (const Json& hash_id : hash_ids) {
    if (!hash_id.is_number_unsigned()) {
      return Bad(absl::StrFormat("hash_ids: %s is not an integer of 64 bits, 0 or more", Quote(hash_id)));
    }
    id = ChainBlock(id, hash_id.get<uint64_t>());
    request->blocks.push_back(id);
  }
  request->input_tokens = static_cast<uint32_t>(*input_tokens);
  request->output_tokens = static_cast<uint32_t>(*output_tokens);
  return absl::OkStatus();
}

absl::Status ParseText(Json& line, uint32_t block_tokens, TraceRequest* request) {
  const absl::StatusOr<uint64_t> output_bytes =
      IntegerField(line, "output_bytes", uint64_t{kMaxTokens} * kBytesPerToken);
  if (!output_bytes.ok()) return output_bytes.status();
  Json& prompt = line["prompt"];
  if (!prompt.is_string()) return Bad(absl::StrFormat("prompt: %s is not a string", Quote(prompt)));
  request->text = std::move(prompt.get_ref<std::string&>());
  request->blocks = ChainText(request->text, block_tokens);
  request->input_tokens = static_cast<uint32_t>(request->text.size() / kBytesPerToken);
  request->output_tokens = static_cast<uint32_t>(*output_bytes / kBytesPerToken);
  return absl::OkStatus();
}

// `form` is that of the lines before; the first good line sets it.
absl::StatusOr<TraceRequest> ParseLine(const std::string& text, uint32_t text_block_tokens, std::optional<Form>* form) {
  Json line;
  try {
    line = Json::parse(text);
  } catch (const Json::parse_error& error) {
    return Bad(absl::StrFormat("not JSON, at byte %d%s", error.byte, ParserReason(error)));
  } catch (const Json::exception&) {
    return Bad("a number is out of range");
  }
  if (!line.is_object()) return Bad(absl::StrFormat("%s is not a JSON object", Quote(line)));
  const bool has_hashes = line.contains("hash_ids");
  const bool has_text = line.contains("prompt");
  if (has_hashes == has_text) {
    return Bad(has_hashes ? "has both hash_ids and prompt" : "has neither hash_ids nor prompt");
  }
  const Form line_form = has_hashes ? Form::kHashes : Form::kText;
  if (form->has_value() && **form != line_form) {
    return Bad(has_hashes ? "hash_ids: the lines before have prompt" : "prompt: the lines before have hash_ids");
  }
  TraceRequest request;
  const absl::StatusOr<int64_t> arrival_us = TimestampUs(line);
  if (!arrival_us.ok()) return arrival_us.status();
  request.arrival_us = *arrival_us;
  const absl::Status parsed = has_hashes ? ParseHashes(line, &request) : ParseText(line, text_block_tokens, &request);
  if (!parsed.ok()) return parsed;
  *form = line_form;
  return request;
}

}  // namespace

absl::StatusOr<TraceFile> ReadTrace(const std::string& path, const ReadOptions& options, Progress* progress) {
  absl::StatusOr<LineReader> reader = LineReader::Open(path);
  if (!reader.ok()) return reader.status();
  TraceFile file;
  std::vector<TraceRequest>& requests = file.trace.requests;
  uint64_t line_number = 0;
  const auto add_bad_line = [&](const std::string& why) {
    if (++file.bad_lines <= kBadLinesDescribed) {
      file.bad_line_reasons.push_back(absl::StrFormat("%s:%d: %s", path, line_number, why));
    }
  };
  std::optional<Form> form;
  const std::string task = "reading " + path;
  std::string line;
  while (options.limit == 0 || requests.size() < options.limit) {
    const absl::StatusOr<LineReader::Outcome> outcome = reader->Next(&line);
    if (!outcome.ok()) return outcome.status();
    if (*outcome == LineReader::Outcome::kEnd) break;
    ++line_number;
    progress->Update(task, requests.size(), 0);
    if (*outcome == LineReader::Outcome::kTooLong) {
      add_bad_line(absl::StrFormat("longer than %d bytes", kMaxLineBytes));
    } else if (*outcome == LineReader::Outcome::kDamaged) {
      add_bad_line("gzip data is truncated or broken; the rest is lost");
    } else if (line.find_first_not_of(" \t\r") != std::string::npos) {
      absl::StatusOr<TraceRequest> request = ParseLine(line, options.text_block_tokens, &form);
      if (request.ok()) {
        requests.push_back(*std::move(request));
      } else {
        add_bad_line(std::string(request.status().message()));
      }
    }
  }
  if (requests.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat("%s: no request in it, %d bad lines%s%s", path, file.bad_lines,
                                                      file.bad_lines > 0 ? ", the first: " : "",
                                                      file.bad_lines > 0 ? file.bad_line_reasons.front() : ""));
  }
  file.trace.block_tokens = form == Form::kHashes ? kHashBlockTokens : options.text_block_tokens;
  file.disordered = file.trace.SortByArrival();
  return file;
}

}  // namespace prefixroute::replay
