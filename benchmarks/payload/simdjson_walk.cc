// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/payload/simdjson_walk.h"

#include <simdjson.h>

namespace prefixroute {
namespace {

namespace ondemand = simdjson::ondemand;

template <typename Value>
size_t TextOf(Value&& value) {
  size_t bytes = 0;
  switch (value.type()) {
    case ondemand::json_type::object:
      for (auto member : value.get_object()) {
        bytes += std::string_view(member.unescaped_key()).size();
        bytes += TextOf(member.value());
      }
      return bytes;
    case ondemand::json_type::array:
      for (auto element : value.get_array()) bytes += TextOf(element.value());
      return bytes;
    case ondemand::json_type::string:
      return std::string_view(value.get_string()).size();
    default:
      return std::string_view(value.raw_json_token()).size();
  }
}

}  // namespace

class SimdjsonWalker::Impl {
 public:
  ondemand::document Index(std::string_view body) {
    return parser_.iterate(body.data(), body.size(), body.size() + simdjson::SIMDJSON_PADDING);
  }

 private:
  ondemand::parser parser_;
};

size_t SimdjsonWalker::Padding() { return simdjson::SIMDJSON_PADDING; }

SimdjsonWalker::SimdjsonWalker() : impl_(std::make_unique<Impl>()) {}
SimdjsonWalker::~SimdjsonWalker() = default;

void SimdjsonWalker::Index(std::string_view body) { impl_->Index(body); }

size_t SimdjsonWalker::Walk(std::string_view body) {
  ondemand::document document = impl_->Index(body);
  return TextOf(document);
}

}  // namespace prefixroute
