#include <sys/socket.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/async/beside.hpp"
#include "protocol/websocket/socket.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::protocol {
namespace {

/// A client's frames, masked with zeros, with a payload of less than 126 bytes.
std::string many_frames(std::size_t count, char first, const std::string& payload) {
  const std::string frame =
      std::string{first} + static_cast<char>(0x80 | payload.size()) + std::string(4, '\0') + payload;
  std::string all;
  for (std::size_t number = 0; number < count; ++number) all += frame;
  return all;
}

Task<> count_turns(std::size_t* turns) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  for (;; ++*turns) co_await boost::asio::post(executor, use_task);
}

Task<std::size_t> read_many(WebSocket* socket, std::size_t messages) {
  for (std::size_t number = 0; number < messages; ++number) {
    const auto message = co_await socket->read();
    if (!message) co_return number;
  }
  co_return messages;
}

CO_TEST(WebSocketState, LetsOthersInBetweenManyFrames) {
  const std::vector<std::pair<std::string, std::size_t>> floods{
      {many_frames(4000, '\x89', "") + many_frames(1, '\x81', "last"), 1}, {many_frames(4000, '\x81', "t"), 4000}};
  for (const auto& [flood, messages] : floods) {
    std::array<int, 2> sockets{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets.data()), 0);
    const UniqueFd client{sockets[1]};
    WebSocket server{Stream{executor, UniqueFd{sockets[0]}, "client"}, flood, {}};
    std::size_t turns = 0;
    EXPECT_EQ(co_await run_beside(count_turns(&turns), read_many(&server, messages)), messages);
    EXPECT_GE(turns, 50U);
    server.abort();
  }
}

}  // namespace
}  // namespace skiff::protocol
