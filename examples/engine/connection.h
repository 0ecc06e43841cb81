// SPDX-License-Identifier: Apache-2.0
//
// A client's connection: one request after the other, each answered at once or as the scheduler makes progress.

#ifndef PREFIXROUTE_EXAMPLES_ENGINE_CONNECTION_H_
#define PREFIXROUTE_EXAMPLES_ENGINE_CONNECTION_H_

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <optional>
#include <string>

#include "api.h"
#include "scheduler.h"

namespace engine {

class Server;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Server* server, boost::asio::ip::tcp::socket socket);

  void Start() { ReadHeader(); }

 private:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;

  void ReadHeader();
  void ReadBody();
  void Handle(const Request& request);
  void Respond(boost::beast::http::status status, const char* type, std::string body);

  void Generate(Api api, const std::string& body);
  void WatchClient();
  void StartStream();
  // There are more tokens, or what was written is out.
  void OnProgress();
  void WriteEvents();
  void Close();

  Server* server_;
  boost::asio::ip::tcp::socket socket_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  // Of the answer under way.
  bool http_1_0_ = false;
  bool keep_alive_ = false;
  Call call_;
  std::shared_ptr<Sequence> sequence_;
  uint32_t sent_ = 0;  // Tokens.
  bool writing_ = false;
  std::string events_;
  boost::beast::http::response<boost::beast::http::string_body> response_;
  boost::beast::http::response<boost::beast::http::empty_body> stream_header_;
  std::optional<boost::beast::http::response_serializer<boost::beast::http::empty_body>> stream_serializer_;
};

}  // namespace engine

#endif  // PREFIXROUTE_EXAMPLES_ENGINE_CONNECTION_H_
