// SPDX-License-Identifier: Apache-2.0
//
// The parts of the gateway that need no client.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "answers.h"
#include "config.h"
#include "engine_load.h"
#include "fleet.h"
#include "guard.h"
#include "heads.h"
#include "upstream.h"
#include "usage_scanner.h"

namespace {
bool no_memory = false;
}

void* operator new(size_t size) {
  void* const memory = no_memory ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace gateway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ErrorOf(std::string_view json) {
  const absl::StatusOr<Config> config = ParseConfig(json);
  return config.ok() ? "" : std::string(config.status().message());
}

std::string WithInstance(std::string_view more) {
  return R"({"instances": [{"url": "http://10.0.0.1:8000"}])" + std::string(more.empty() ? "" : ", ") +
         std::string(more) + "}";
}

TEST(ConfigTest, ReadsEverything) {
  const absl::StatusOr<Config> config = ParseConfig(R"({
    // For people.
    "listen": "[::1]:81", "admin": "localhost:82", "threads": 3, "decision_headers": true,
    "strategy": "RANDOM", "max_prefix_bytes": 4096, "gateway_replicas": 2,
    "instances": [
      {"url": "http://10.0.0.1:8000/"},
      {"id": "b", "url": "engine.example", "weight": 0.5, "max_outstanding": 7, "draining": true}],
    "health": {"path": "/ping", "interval": 0.25, "timeout": 1, "failures": 5},
    "load": {"source": "orca", "path": "/m", "interval": 2},
    "limits": {"header_bytes": 2048, "body_bytes": 0, "tries": 9},
    "timeouts": {"keep_alive": 1, "header": 2, "body": 3, "write": 4, "connect": 5, "first_byte": 6, "stall": 7,
                 "shutdown": 8}})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->listen.host, "::1");
  EXPECT_EQ(config->listen.port, 81);
  EXPECT_EQ(config->admin->host, "localhost");
  EXPECT_EQ(config->threads, 3U);
  EXPECT_TRUE(config->decision_headers);
  EXPECT_EQ(config->router.strategy, prefixroute::Strategy::kRandom);
  EXPECT_EQ(config->router.max_prefix_bytes, 4096U);
  EXPECT_EQ(config->router.gateway_replicas, 2U);
  ASSERT_EQ(config->instances.size(), 2U);
  EXPECT_EQ(config->instances[0].instance.id, "10.0.0.1:8000");
  EXPECT_EQ(config->instances[0].address.host, "10.0.0.1");
  EXPECT_EQ(config->instances[0].address.port, 8000);
  EXPECT_EQ(config->instances[1].instance.id, "b");
  EXPECT_EQ(config->instances[1].instance.weight, 0.5);
  EXPECT_EQ(config->instances[1].instance.max_outstanding, 7U);
  EXPECT_EQ(config->instances[1].address.port, 80);
  EXPECT_TRUE(config->instances[1].draining);
  EXPECT_EQ(config->health.path, "/ping");
  EXPECT_EQ(config->health.interval.count(), 250);
  EXPECT_EQ(config->health.timeout.count(), 1'000);
  EXPECT_EQ(config->health.failures, 5U);
  EXPECT_EQ(config->load.source, LoadSource::kOrca);
  EXPECT_EQ(config->load.path, "/m");
  EXPECT_EQ(config->load.interval.count(), 2'000);
  EXPECT_EQ(config->limits.header_bytes, 2'048U);
  EXPECT_EQ(config->limits.body_bytes, 0U);
  EXPECT_EQ(config->limits.tries, 9U);
  const auto& timeouts = config->timeouts;
  const Config::Milliseconds all[] = {timeouts.keep_alive, timeouts.header,     timeouts.body,  timeouts.write,
                                      timeouts.connect,    timeouts.first_byte, timeouts.stall, timeouts.shutdown};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(all[i].count(), (i + 1) * 1'000) << i;
}

TEST(ConfigTest, ErrorsNameTheFieldAndTheValue) {
  EXPECT_EQ(ErrorOf(WithInstance("")), "");
  EXPECT_THAT(ErrorOf("{"), HasSubstr("parse error"));
  EXPECT_EQ(ErrorOf("[]"), "the config: [] is not an object");
  EXPECT_EQ(ErrorOf("{}"), "instances: there are none");
  EXPECT_EQ(ErrorOf(R"({"instances": 3})"), "instances: 3 is not a list");
  EXPECT_EQ(ErrorOf(R"({"instances": [3]})"), "instances[0]: 3 is not an object");
  for (const char* url : {"", "https://a:1", "http://", "http://a:", "http://a:0", "http://a:70000", "http://a:1/path",
                          "http://u@a:1", "http://a:1x", "http://[::1:1"}) {
    EXPECT_EQ(ErrorOf(R"({"instances": [{"url": ")" + std::string(url) + R"("}]})"),
              "instances[0].url: \"" + std::string(url) + "\" is not http://host:port");
  }
  EXPECT_THAT(ErrorOf(R"({"instances": [{"url": "http://a:1", "weight": -1}]})"), HasSubstr("weight"));
  EXPECT_EQ(ErrorOf(R"({"instances": [{"url": "http://a:1", "weight": "1"}]})"),
            "instances[0].weight: \"1\" is not a number");
  EXPECT_THAT(ErrorOf(R"({"instances": [{"url": "a:1"}, {"url": "http://a:1/"}]})"), HasSubstr("a:1"));
  EXPECT_EQ(ErrorOf(R"({"instances": [{"url": "http://a:1", "id": "a\nb"}]})"),
            R"(instances[0].id: "a\nb" is not printable ASCII without spaces)");
  EXPECT_EQ(ErrorOf(R"({"instances": [{"url": "http://a:1", "x": 1}]})"), "no such field: instances[0].x");
  EXPECT_EQ(ErrorOf(WithInstance(R"("colour": 1)")), "no such field: colour");
  EXPECT_EQ(ErrorOf(WithInstance(R"("listen": "nowhere:port")")), "listen: \"nowhere:port\" is not host:port");
  EXPECT_EQ(ErrorOf(WithInstance(R"("threads": -1)")), "threads: -1 is not an integer of 0 to 1024");
  EXPECT_EQ(ErrorOf(WithInstance(R"("decision_headers": 1)")), "decision_headers: 1 is not true or false");
  EXPECT_EQ(ErrorOf(WithInstance(R"("a\n\u001b": 1)")), R"(no such field: a\n\x1b)");
  EXPECT_EQ(ErrorOf(WithInstance(R"("threads": 1, "threads": 2)")), R"("threads" is there twice)");
  EXPECT_EQ(ErrorOf(WithInstance(R"("health": {"path": "", "path": "/"})")), R"("path" is there twice)");
  EXPECT_THAT(ErrorOf("{\"threads\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}"),
              HasSubstr("more than 8 lists or objects"));
  EXPECT_THAT(ErrorOf(WithInstance(R"("strategy": "BEST")")), HasSubstr("BEST"));
  EXPECT_NE(ErrorOf(WithInstance(R"("strategy": "")")), "");
  EXPECT_EQ(ErrorOf(WithInstance(R"("strategy": 1)")), "strategy: 1 is not a string");
  EXPECT_THAT(ErrorOf(WithInstance(R"("gateway_replicas": 0)")), HasSubstr("gateway_replicas"));
  EXPECT_THAT(ErrorOf(WithInstance(R"("max_prefix_bytes": 0)")), HasSubstr("max_prefix_bytes"));
  EXPECT_EQ(ErrorOf(WithInstance(R"("health": {"path": "ping"})")), "health.path: \"ping\" is not a path");
  EXPECT_EQ(ErrorOf(WithInstance(R"("health": {"interval": 0})")),
            "health.interval: 0 is not a number of seconds, 0.001 to 86400");
  EXPECT_EQ(ErrorOf(WithInstance(R"("health": 3)")), "health: 3 is not an object");
  EXPECT_EQ(ErrorOf(WithInstance(R"("load": {"source": "dice"})")),
            "load.source: \"dice\" is not \"none\", \"metrics\" or \"orca\"");
  EXPECT_EQ(ErrorOf(WithInstance(R"("limits": {"tries": 0})")), "limits.tries: 0 is not an integer of 1 to 100");
  EXPECT_EQ(ErrorOf(WithInstance(R"("timeouts": {"stall": "long"})")),
            "timeouts.stall: \"long\" is not a number of seconds, 0.001 to 86400");
}

TEST(ConfigTest, HasRoomForManyInstances) {
  std::string json = R"({"instances": [{"url": "http://e"})";
  for (int i = 0; i < 1'500; ++i) json += R"(, {"url": "http://e)" + std::to_string(i) + "\"}";
  const absl::StatusOr<Config> config = ParseConfig(json + "]}");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(Fleet::Create(*config).ok());
}

TEST(ConfigTest, FlagsStandForValues) {
  const char* argv[] = {"gateway",    "--listen=:1", "--listen",  "a:1", "--instance", "http://b:2",
                        "--instance", "http://c:3",  "--threads", "4",   "--strategy", "RANDOM"};
  const absl::StatusOr<CommandLine> line = ParseCommandLine(std::size(argv), argv);
  ASSERT_TRUE(line.ok());
  const absl::StatusOr<Config> config = LoadConfig(*line);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->listen.host, "a");
  EXPECT_EQ(config->instances.size(), 2U);
  EXPECT_EQ(config->threads, 4U);
  EXPECT_EQ(config->router.strategy, prefixroute::Strategy::kRandom);

  const char* unknown[] = {"gateway", "--speed", "fast"};
  EXPECT_EQ(ParseCommandLine(3, unknown).status().message(), "no such flag: --speed");
  const char* bad[] = {"gateway", "--instance", "a:1", "--threads", "many"};
  EXPECT_EQ(LoadConfig(*ParseCommandLine(5, bad)).status().message(),
            "threads: \"many\" is not an integer of 0 to 1024");
  const char* nowhere[] = {"gateway", "--config", "/nonexistent/file"};
  EXPECT_EQ(LoadConfig(*ParseCommandLine(3, nowhere)).status().message(), "can't read /nonexistent/file");
  const char* folder[] = {"gateway", "--config", "/"};
  EXPECT_EQ(LoadConfig(*ParseCommandLine(3, folder)).status().message(), "can't read /");
}

// Fed whole, and byte by byte.
std::optional<Usage> UsageOf(std::string_view answer) {
  UsageScanner whole;
  whole.Scan(answer);
  UsageScanner bytes;
  for (size_t i = 0; i < answer.size(); ++i) bytes.Scan(answer.substr(i, 1));
  EXPECT_EQ(whole.usage().has_value(), bytes.usage().has_value());
  if (whole.usage() && bytes.usage()) {
    EXPECT_EQ(whole.usage()->cached_tokens, bytes.usage()->cached_tokens);
    EXPECT_EQ(whole.usage()->prompt_tokens, bytes.usage()->prompt_tokens);
  }
  return whole.usage();
}

void ExpectUsage(std::string_view answer, uint64_t prompt_tokens, uint64_t cached_tokens) {
  const std::optional<Usage> usage = UsageOf(answer);
  ASSERT_TRUE(usage) << answer;
  EXPECT_EQ(usage->prompt_tokens, prompt_tokens) << answer;
  EXPECT_EQ(usage->cached_tokens, cached_tokens) << answer;
}

TEST(UsageScannerTest, ReadsEveryForm) {
  ExpectUsage(R"({"choices":[],"usage":{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":8}}})", 10, 8);
  ExpectUsage("{\n \"usage\" : {\n \"prompt_tokens_details\" : { \"cached_tokens\" : 8 } ,\n \"prompt_tokens\"\n:10}}",
              10, 8);
  ExpectUsage(
      "data: {\"usage\":null}\n\ndata: {\"usage\":{\"input_tokens\":5,\"input_tokens_details\":"
      "{\"cached_tokens\":0}}}\n\ndata: [DONE]\n\n",
      5, 0);
  ExpectUsage(
      "event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":1,\"cache_read_input_tokens\":2,"
      "\"cache_creation_input_tokens\":3}}}\n\nevent: message_delta\ndata: {\"usage\":{\"output_tokens\":4}}\n\n",
      6, 2);
  // vLLM's Anthropic form, without the count of those it put into its cache; and a number at the very end of an object.
  ExpectUsage(R"({"usage":{"cache_read_input_tokens":2,"input_tokens":1}})", 3, 2);
  // A stream that counts as it goes: the last one counts.
  ExpectUsage(
      "data: {\"usage\":{\"prompt_tokens\":1,\"cached_tokens\":0}}\n\n"
      "data: {\"usage\":{\"prompt_tokens\":7,\"cached_tokens\":6}}\n\n",
      7, 6);
}

TEST(UsageScannerTest, IsNotFooledByTheText) {
  for (const char* answer :
       {R"({"content":"\"usage\":{\"prompt_tokens\":1,\"cached_tokens\":1}"})",
        R"({"cached_tokens":1,"prompt_tokens":1})", R"({"usage":{"prompt_tokens":10}})",
        R"({"usage":{"prompt_tokens":10,"prompt_tokens_details":null}})",
        R"({"usage":{"cached_tokens":"8","prompt_tokens":-1}})", R"({"usage":[{"cached_tokens":8}]})",
        R"({"usage":{"x":{}},"cached_tokens":1,"prompt_tokens":2})", R"(usage cached_tokens: 1)", "", "}}}}\"",
        "\"\\"}) {
    EXPECT_FALSE(UsageOf(answer)) << answer;
  }
  const std::string text(100'000, 'x');
  ExpectUsage("{\"a\":\"" + text + "\\\"\",\"usage\":{\"prompt_tokens\":10,\"cached_tokens\":8}}", 10, 8);
  // A line that was broken off does not swallow the next.
  ExpectUsage("data: {\"text\":\"broken off\n\ndata: {\"usage\":{\"prompt_tokens\":10,\"cached_tokens\":8}}\n\n", 10,
              8);
  // Absurd numbers stay within bounds.
  ASSERT_TRUE(UsageOf(R"({"usage":{"prompt_tokens":99999999999999999999999999,"cached_tokens":8}})"));
}

TEST(EngineLoadTest, ReadsEveryEnginesMetrics) {
  const EngineMetrics vllm = ParseEngineMetrics(
      "# HELP vllm:num_requests_running Number\n# TYPE vllm:num_requests_running gauge\n"
      "vllm:num_requests_running{engine=\"0\",model_name=\"a } b\"} 3.0\n"
      "vllm:num_requests_running{engine=\"1\"} 4.0\nvllm:num_requests_running_max 100\n"
      "vllm:num_requests_waiting{engine=\"0\"} 2.0\nprocess_start_time_seconds 1.7e9\n");
  ASSERT_TRUE(vllm.load);
  EXPECT_EQ(vllm.load->outstanding, 9U);
  EXPECT_EQ(vllm.load->waiting, 2U);
  EXPECT_EQ(vllm.process_start_seconds, 1.7e9);

  const EngineMetrics sglang =
      ParseEngineMetrics("sglang:num_running_reqs{x=\"\"} 5\r\nsglang:num_queue_reqs 1 123456");
  ASSERT_TRUE(sglang.load);
  EXPECT_EQ(sglang.load->outstanding, 6U);
  EXPECT_EQ(sglang.load->waiting, 1U);

  const EngineMetrics llama = ParseEngineMetrics("llamacpp:requests_processing 1\nllamacpp:requests_deferred 7\n");
  ASSERT_TRUE(llama.load);
  EXPECT_EQ(llama.load->outstanding, 8U);
  EXPECT_EQ(llama.load->waiting, 7U);

  EXPECT_EQ(ParseEngineMetrics("vllm:num_requests_running 1e300\n").load->outstanding, prefixroute::kMaxOutstanding);
  for (const char* text :
       {"", "\n\n", "vllm:num_requests_running", "vllm:num_requests_running{", "vllm:num_requests_running NaN",
        "vllm:num_requests_running -1", "vllm:num_requests_running{a=\"b\"}", "other 1"}) {
    EXPECT_FALSE(ParseEngineMetrics(text).load) << text;
  }
}

TEST(EngineLoadTest, ReadsOrca) {
  const auto text = ParseOrca("TEXT named_metrics.kv_cache_usage_perc=0.4, named_metrics.num_requests_waiting=5.0");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->outstanding, 5U);
  EXPECT_EQ(text->waiting, 5U);
  const auto json = ParseOrca(R"(JSON {"named_metrics": {"num_requests_waiting": 5, "num_requests_running": 2}})");
  ASSERT_TRUE(json);
  EXPECT_EQ(json->outstanding, 7U);
  EXPECT_EQ(json->waiting, 5U);
  for (const char* header : {"", "TEXT", "TEXT num_requests_waiting", "TEXT num_requests_waiting=", "BIN \x01"}) {
    EXPECT_FALSE(ParseOrca(header)) << header;
  }
}

// Where nobody listens.
tcp::endpoint Closed() {
  asio::io_context context;
  return tcp::acceptor(context, {asio::ip::address_v4::loopback(), 0}).local_endpoint();
}

error_code Connect(Backend& backend, std::chrono::milliseconds time) {
  asio::io_context context;
  Upstream upstream(context);
  error_code result;
  const auto connect = [&]() -> Awaitable<void> {
    result = co_await upstream.Connect(backend, Upstream::Deadline::clock::now() + time);
  };
  asio::co_spawn(context, connect, asio::detached);
  context.run();
  return result;
}

TEST(UpstreamTest, KeepsToTheAddressThatTookAConnection) {
  asio::io_context context;
  const tcp::endpoint closed = Closed();
  const tcp::acceptor listener(context, {asio::ip::address_v4::loopback(), 0});
  Backend backend("a", {"engine", 1});
  backend.SetEndpoints({closed, listener.local_endpoint()});
  EXPECT_FALSE(Connect(backend, std::chrono::seconds(30)));
  EXPECT_THAT(backend.endpoints(), ElementsAre(listener.local_endpoint(), closed));
  backend.SetEndpoints({closed, listener.local_endpoint()});
  EXPECT_THAT(backend.endpoints(), ElementsAre(listener.local_endpoint(), closed));
}

TEST(UpstreamTest, TellsHowTheFirstAddressFailed) {
  asio::io_context context;
  tcp::acceptor silent(context);
  silent.open(tcp::v4());
  silent.bind({asio::ip::address_v4::loopback(), 0});
  silent.listen(0);
  tcp::socket filler(context);
  filler.connect(silent.local_endpoint());  // Who waits to be accepted leaves no room for another.
  Backend backend("a", {"engine", 1});
  backend.SetEndpoints({silent.local_endpoint(), Closed()});
  EXPECT_EQ(Connect(backend, std::chrono::milliseconds(200)), beast::error::timeout);
  backend.SetEndpoints({Closed()});
  EXPECT_EQ(Connect(backend, std::chrono::seconds(30)), asio::error::connection_refused);
  backend.SetEndpoints({});
  EXPECT_EQ(Connect(backend, std::chrono::seconds(30)), asio::error::host_not_found);
}

TEST(FleetTest, AnInstanceThatMovedIsTakenForRestarted) {
  const auto config = ParseConfig(R"({"instances": [{"url": "http://engine:1"}]})");
  ASSERT_TRUE(config.ok()) << config.status();
  const auto fleet = Fleet::Create(*config);
  ASSERT_TRUE(fleet.ok()) << fleet.status();
  Backend& backend = *(*fleet)->snapshot()->backends[0];
  const auto at = [](uint32_t host) { return tcp::endpoint(asio::ip::address_v4(host), 1); };
  ::testing::internal::CaptureStderr();
  backend.SetEndpoints({at(1), at(2)});
  (*fleet)->CheckSucceeded(backend);
  backend.SetEndpoints({at(3), at(2)});
  (*fleet)->CheckSucceeded(backend);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), Not(HasSubstr("restarted")));
  ::testing::internal::CaptureStderr();
  backend.SetEndpoints({at(4), at(5)});
  (*fleet)->CheckSucceeded(backend);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("engine:1 was restarted"));
}

TEST(GuardTest, LogsExceptionsWithoutMemory) {
  ::testing::internal::CaptureStderr();
  no_memory = true;
  try {
    (void)::operator new(1);
  } catch (...) {
    LogException(std::current_exception());
  }
  no_memory = false;
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("goes on after an exception: St9bad_alloc\n"));
}

Awaitable<void> Nothing() { co_return; }

TEST(GuardTest, StartsAgainWhatCannotStart) {
  asio::io_context context;
  int tries = 0;
  SpawnAgain(context, [&tries] {
    if (++tries < 3) throw std::bad_alloc();
    return Nothing();
  });
  RunOn(context, LogException);
  EXPECT_EQ(tries, 3);
}

TEST(HeadsTest, ManyFieldsOfOneConnectionAlone) {
  http::request_header<> request;
  request.method(http::verb::get);
  request.target("/");
  std::string named;
  for (int i = 0; i < 3'000; ++i) {
    const std::string name = "X-" + std::to_string(i);
    request.insert(name, "1");
    if (i % 2 == 0) named += "x-" + std::to_string(i) + ",";
  }
  for (int i = 0; i < 10'000; ++i) named += "a,";
  request.set(http::field::connection, named);
  // By each field and each name it would take minutes.
  for (int i = 0; i < 100; ++i) {
    const std::string head = RequestHead(request, {"e:1", "10.0.0.1", 0, false});
    ASSERT_THAT(head, HasSubstr("\r\nX-2999: 1\r\n"));
    ASSERT_EQ(head.find("\r\nX-2998:"), std::string::npos);
    ASSERT_EQ(head.find("\r\nConnection:"), std::string::npos);
  }
}

TEST(AnswersTest, ErrorsHaveTheClientsForm) {
  const std::string openai = ErrorAnswer({.keep_alive = true}, http::status::too_many_requests, "busy");
  EXPECT_THAT(openai, HasSubstr("HTTP/1.1 429 Too Many Requests\r\n"));
  EXPECT_THAT(openai, HasSubstr("Retry-After: 1\r\n"));
  EXPECT_THAT(openai, HasSubstr(R"({"error":{"message":"busy","type":"rate_limit_error","param":null,"code":429}})"));
  const std::string anthropic = ErrorAnswer({.anthropic = true}, http::status::service_unavailable, "away");
  EXPECT_THAT(anthropic, HasSubstr(R"({"type":"error","error":{"type":"overloaded_error","message":"away"}})"));
  EXPECT_THAT(anthropic, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(ErrorAnswer({.head = true}, http::status::not_found, "x"), ::testing::EndsWith("\r\n\r\n"));
}

}  // namespace
}  // namespace gateway
