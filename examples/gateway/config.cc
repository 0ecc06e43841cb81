// SPDX-License-Identifier: Apache-2.0

#include "config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"

namespace gateway {
namespace {

using nlohmann::json;

// A config has three levels. To copy a value, or to write it down, takes stack for each.
constexpr int kMaxDepth = 8;

std::string Text(const json& value) { return value.dump(-1, ' ', true, json::error_handler_t::replace); }

absl::Status Invalid(const std::string& field, const json& value, std::string_view expected) {
  return absl::InvalidArgumentError(absl::StrFormat("%s: %s is not %s", field, Text(value), expected));
}

absl::StatusOr<Address> ParseAddress(std::string_view text, uint16_t default_port) {
  Address address;
  std::string_view port;
  if (!text.empty() && text.front() == '[') {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return absl::InvalidArgumentError("no ]");
    address.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else {
    const size_t colon = std::min(text.find(':'), text.size());
    address.host = text.substr(0, colon);
    port = text.substr(colon);
  }
  address.port = default_port;
  if (!port.empty()) {
    const char* end = port.data() + port.size();
    const auto [parsed, error] = std::from_chars(port.data() + 1, end, address.port);
    if (port.front() != ':' || error != std::errc() || parsed != end) return absl::InvalidArgumentError("bad port");
  }
  if (address.host.empty() || address.host.find_first_of("/@ \t\r\n") != std::string::npos) {
    return absl::InvalidArgumentError("bad host");
  }
  return address;
}

// The fields of one JSON object, each taken by its name. The first error stays; a field that nobody took is one.
class Fields {
 public:
  Fields(const json& object, std::string path) : object_(object), path_(std::move(path)) {
    if (!object.is_object()) status_ = Invalid(path_.empty() ? "the config" : path_, object, "an object");
  }

  const json* Take(const std::string& name) {
    if (!status_.ok()) return nullptr;
    taken_.insert(name);
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }

  void Take(const std::string& name, bool& out) {
    const json* value = Take(name);
    if (value == nullptr) return;
    if (!value->is_boolean()) return Fail(name, *value, "true or false");
    out = value->get<bool>();
  }

  void Take(const std::string& name, std::string& out) {
    const json* value = Take(name);
    if (value == nullptr) return;
    if (!value->is_string()) return Fail(name, *value, "a string");
    out = value->get<std::string>();
  }

  template <typename Unsigned>
  void Take(const std::string& name, Unsigned& out, uint64_t least, uint64_t most) {
    const json* value = Take(name);
    if (value == nullptr) return;
    if (!value->is_number_unsigned() || value->get<uint64_t>() < least || value->get<uint64_t>() > most) {
      return Fail(name, *value, absl::StrFormat("an integer of %d to %d", least, most));
    }
    out = static_cast<Unsigned>(value->get<uint64_t>());
  }

  void TakeSeconds(const std::string& name, std::chrono::milliseconds& out) {
    const json* value = Take(name);
    if (value == nullptr) return;
    constexpr double kMost = 86'400;
    const double seconds = value->is_number() ? value->get<double>() : 0;
    if (!(seconds >= 0.001 && seconds <= kMost)) return Fail(name, *value, "a number of seconds, 0.001 to 86400");
    out = std::chrono::milliseconds(std::lround(seconds * 1'000));
  }

  // A path to ask an instance for, or nothing.
  void TakePath(const std::string& name, std::string& out) {
    Take(name, out);
    if (!status_.ok() || out.empty()) return;
    if (out.front() != '/' || out.find_first_of(" \t\r\n") != std::string::npos) Fail(name, out, "a path");
  }

  void TakeAddress(const std::string& name, Address& out) {
    std::string text;
    Take(name, text);
    if (!status_.ok() || object_.find(name) == object_.end()) return;
    absl::StatusOr<Address> address = ParseAddress(text, 80);
    if (!address.ok()) return Fail(name, text, "host:port");
    out = *address;
  }

  void Fail(const std::string& name, const json& value, std::string_view expected) {
    if (status_.ok()) status_ = Invalid(Path(name), value, expected);
  }

  std::string Path(const std::string& name) const { return path_.empty() ? name : path_ + "." + name; }
  void Merge(const absl::Status& status) { status_.Update(status); }
  bool ok() const { return status_.ok(); }

  absl::Status Done() {
    if (!status_.ok()) return status_;
    for (const auto& [name, value] : object_.items()) {
      if (taken_.count(name) == 0) return absl::InvalidArgumentError("no such field: " + Path(absl::CHexEscape(name)));
    }
    return absl::OkStatus();
  }

 private:
  const json& object_;
  const std::string path_;
  std::set<std::string> taken_;
  absl::Status status_;
};

absl::StatusOr<InstanceConfig> ParseInstance(const json& object, const std::string& path) {
  Fields fields(object, path);
  InstanceConfig config;
  std::string url;
  fields.Take("url", url);
  constexpr std::string_view kScheme = "http://";
  std::string_view rest = url;
  if (rest.substr(0, kScheme.size()) == kScheme) rest.remove_prefix(kScheme.size());
  if (!rest.empty() && rest.back() == '/') rest.remove_suffix(1);
  const absl::StatusOr<Address> address = ParseAddress(rest, 80);
  if (!address.ok() || address->port == 0) {
    fields.Fail("url", url, "http://host:port");
  } else {
    config.address = *address;
  }
  config.instance.id = rest;
  fields.Take("id", config.instance.id);
  // It comes in logs, headers and labels.
  for (const char c : config.instance.id) {
    if (c <= ' ' || c > '~') fields.Fail("id", config.instance.id, "printable ASCII without spaces");
  }
  if (const json* weight = fields.Take("weight")) {
    if (!weight->is_number()) fields.Fail("weight", *weight, "a number");
    if (fields.ok()) config.instance.weight = weight->get<double>();
  }
  fields.Take("max_outstanding", config.instance.max_outstanding, 0, prefixroute::kMaxOutstanding);
  fields.Take("draining", config.draining);
  if (absl::Status status = fields.Done(); !status.ok()) return status;
  return config;
}

absl::Status ParseInstances(Fields& fields, std::vector<InstanceConfig>& out) {
  const json* list = fields.Take("instances");
  if (list == nullptr) return absl::OkStatus();
  if (!list->is_array()) return Invalid("instances", *list, "a list");
  for (size_t i = 0; i < list->size(); ++i) {
    absl::StatusOr<InstanceConfig> instance = ParseInstance((*list)[i], absl::StrFormat("instances[%d]", i));
    if (!instance.ok()) return instance.status();
    out.push_back(*std::move(instance));
  }
  return absl::OkStatus();
}

absl::Status ParseSections(Fields& root, Config& config) {
  const json empty = json::object();
  const auto section = [&](const char* name) {
    const json* value = root.Take(name);
    return Fields(value == nullptr ? empty : *value, name);
  };
  Fields health = section("health");
  health.TakePath("path", config.health.path);
  health.TakeSeconds("interval", config.health.interval);
  health.TakeSeconds("timeout", config.health.timeout);
  health.Take("failures", config.health.failures, 1, 1'000);

  Fields load = section("load");
  if (const json* source = load.Take("source")) {
    if (*source == "none") {
      config.load.source = LoadSource::kNone;
    } else if (*source == "metrics") {
      config.load.source = LoadSource::kMetrics;
    } else if (*source == "orca") {
      config.load.source = LoadSource::kOrca;
    } else {
      load.Fail("source", *source, "\"none\", \"metrics\" or \"orca\"");
    }
  }
  load.TakePath("path", config.load.path);
  load.TakeSeconds("interval", config.load.interval);

  Fields limits = section("limits");
  limits.Take("header_bytes", config.limits.header_bytes, 1'024, kMaxHeaderBytes);
  limits.Take("body_bytes", config.limits.body_bytes, 0, 1 << 30);
  limits.Take("tries", config.limits.tries, 1, 100);

  Fields timeouts = section("timeouts");
  timeouts.TakeSeconds("keep_alive", config.timeouts.keep_alive);
  timeouts.TakeSeconds("header", config.timeouts.header);
  timeouts.TakeSeconds("body", config.timeouts.body);
  timeouts.TakeSeconds("write", config.timeouts.write);
  timeouts.TakeSeconds("connect", config.timeouts.connect);
  timeouts.TakeSeconds("first_byte", config.timeouts.first_byte);
  timeouts.TakeSeconds("stall", config.timeouts.stall);
  timeouts.TakeSeconds("shutdown", config.timeouts.shutdown);

  for (Fields* fields : {&health, &load, &limits, &timeouts}) {
    if (absl::Status status = fields->Done(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<json> ParseJson(std::string_view text) {
  std::vector<std::set<std::string>> open;  // The names in each object that has not ended yet.
  const auto check = [&open](int depth, json::parse_event_t event, const json& value) {
    const bool object = event == json::parse_event_t::object_start;
    if ((object || event == json::parse_event_t::array_start) && depth >= kMaxDepth) {
      throw std::invalid_argument(absl::StrFormat("more than %d lists or objects, one in another", kMaxDepth));
    }
    if (object) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second) {
      throw std::invalid_argument(Text(value) + " is there twice");
    }
    return true;
  };
  try {
    // Comments are let through: it is people who write configs.
    return json::parse(text, check, true, true);
  } catch (const json::exception& error) {
    return absl::InvalidArgumentError(error.what());
  } catch (const std::invalid_argument& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

absl::StatusOr<Config> FromJson(const json& object) {
  Fields root(object, "");
  Config config;
  root.TakeAddress("listen", config.listen);
  if (object.is_object() && object.contains("admin")) root.TakeAddress("admin", config.admin.emplace());
  root.Take("threads", config.threads, 0, 1'024);
  root.Take("decision_headers", config.decision_headers);
  std::string name(prefixroute::StrategyName(config.router.strategy));
  root.Take("strategy", name);
  const absl::StatusOr<prefixroute::Strategy> strategy = prefixroute::ParseStrategy(name);
  if (!strategy.ok()) return strategy.status();
  config.router.strategy = *strategy;
  // Their ranges are the router's to check.
  root.Take("max_prefix_bytes", config.router.max_prefix_bytes, 0, std::numeric_limits<uint64_t>::max());
  root.Take("strict_prefix_bytes", config.router.strict_prefix_bytes, 0, std::numeric_limits<uint64_t>::max());
  root.Take("gateway_replicas", config.router.gateway_replicas, 0, std::numeric_limits<uint32_t>::max());
  root.Merge(ParseInstances(root, config.instances));
  if (root.ok()) root.Merge(ParseSections(root, config));
  if (absl::Status status = root.Done(); !status.ok()) return status;
  if (config.instances.empty()) return absl::InvalidArgumentError("instances: there are none");

  // What the router says of its own fields.
  std::vector<prefixroute::Instance> instances;
  for (const InstanceConfig& each : config.instances) instances.push_back(each.instance);
  // Also for those that reloads bring.
  config.router.max_instances = static_cast<uint32_t>(
      std::clamp<size_t>(2 * instances.size(), config.router.max_instances, prefixroute::kMaxInstances));
  if (auto router = prefixroute::Router::Create(config.router, instances); !router.ok()) return router.status();
  return config;
}

}  // namespace

const char* HelpText() {
  return R"(prefixroute_gateway [--config FILE] [flags]: a reverse proxy for OpenAI- and Anthropic-compatible engines that
sends each request to the engine that should have most of its prompt cached.

  --config FILE     JSON; SIGHUP reads it anew. See docs/gateway.md.
  --listen ADDR     host:port to serve clients at; default 127.0.0.1:8080
  --admin ADDR      host:port for /metrics and /healthz; default: the same as --listen
  --instance URL    http://host:port of an engine; once for each. In place of the file's.
  --strategy NAME   PREFIX_AWARE (default), LEAST_OUTSTANDING_REQUESTS or RANDOM
  --threads N       default: one a processor
  --check           say whether the config is right, and end
  --help            this
)";
}

absl::StatusOr<Config> ParseConfig(std::string_view text) {
  absl::StatusOr<json> object = ParseJson(text);
  if (!object.ok()) return object.status();
  return FromJson(*object);
}

absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  CommandLine command_line;
  json overrides = json::object();
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    if (flag == "--help" || flag == "-h") {
      command_line.help = true;
      continue;
    }
    if (flag == "--check") {
      command_line.check = true;
      continue;
    }
    std::string value;
    if (const size_t equals = flag.find('='); equals != std::string::npos) {
      value = flag.substr(equals + 1);
      flag.resize(equals);
    } else if (i + 1 < argc) {
      value = argv[++i];
    } else {
      return absl::InvalidArgumentError(absl::StrFormat("%s: no such flag, or no value after it", flag));
    }
    if (flag == "--config") {
      command_line.file = value;
    } else if (flag == "--listen" || flag == "--admin" || flag == "--strategy") {
      overrides[flag.substr(2)] = value;
    } else if (flag == "--instance") {
      overrides["instances"].push_back({{"url", value}});
    } else if (flag == "--threads") {
      const absl::StatusOr<json> number = ParseJson(value);
      overrides["threads"] = number.ok() ? *number : json(value);
    } else {
      return absl::InvalidArgumentError("no such flag: " + flag);
    }
  }
  command_line.overrides = Text(overrides);
  return command_line;
}

absl::StatusOr<Config> LoadConfig(const CommandLine& command_line) {
  json object = json::object();
  if (!command_line.file.empty()) {
    std::string text;
    try {
      std::ifstream file;
      file.exceptions(std::ios_base::failbit);
      file.open(command_line.file);
      text.assign(std::istreambuf_iterator<char>(file), {});
    } catch (const std::ios_base::failure&) {
      return absl::NotFoundError("can't read " + command_line.file);
    }
    absl::StatusOr<json> parsed = ParseJson(text);
    if (!parsed.ok()) return parsed.status();
    object = *std::move(parsed);
  }
  const absl::StatusOr<json> overrides = ParseJson(command_line.overrides);
  if (!overrides.ok()) return overrides.status();
  if (object.is_object()) object.update(*overrides);
  return FromJson(object);
}

}  // namespace gateway
