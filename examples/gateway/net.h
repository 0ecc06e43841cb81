// SPDX-License-Identifier: Apache-2.0
//
// Boost's names, as the gateway writes them, and what its sockets have in common.

#ifndef PREFIXROUTE_EXAMPLES_GATEWAY_NET_H_
#define PREFIXROUTE_EXAMPLES_GATEWAY_NET_H_

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>
#include <string_view>
// Boost 1.74 uses std::exchange without including it.
#include <utility>
//
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

namespace gateway {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

template <typename T>
using Awaitable = asio::awaitable<T>;

// For an asynchronous call that is to leave its error there, in place of throwing it.
inline auto Into(error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

// Boost's string_view is none of the standard's.
inline std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

// Until one that is gone without a word is given up.
constexpr std::chrono::seconds kMaxSilence{30};

// Sends small packets at once, and finds out when the other side is gone without a word: within `silence`, for which it
// may also take nothing. Keep-alive asks only while all that was sent is acknowledged.
inline void Prepare(tcp::socket& socket, std::chrono::milliseconds silence) {
  const auto set = [&socket](int level, int name, int value) {
    (void)::setsockopt(socket.native_handle(), level, name, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(silence.count()));
}

}  // namespace gateway

#endif  // PREFIXROUTE_EXAMPLES_GATEWAY_NET_H_
