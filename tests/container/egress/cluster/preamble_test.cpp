#include "container/egress/cluster/preamble.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "base/unique_fd.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::egress {
namespace {

/// The token that is read, and a blank, and what is left in the socket.
Task<std::string> read(Executor executor, std::string bytes) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  UniqueFd client{ends[1]};
  boost::asio::posix::basic_stream_descriptor<Executor> socket{executor, ends[0]};
  EXPECT_EQ(::write(client.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  client.reset();
  const auto token = co_await read_preamble(&socket);
  std::array<char, 4096> left{};
  const ssize_t count = ::recv(socket.native_handle(), left.data(), left.size(), MSG_DONTWAIT);
  co_return (token ? *token : "none") + " " + std::string{left.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
}

CO_TEST(Preamble, IsReadAndNotAByteMore) {
  EXPECT_EQ(co_await read(executor, "SKIFF-EGRESS/1 abc\r\nCONNECT\n\r\n"), "abc CONNECT\n\r\n");
  EXPECT_EQ(co_await read(executor, "SKIFF-EGRESS/1 abc\r\n"), "abc ");
  EXPECT_EQ(co_await read(executor, ""), " ") << "it goes without a word";
  const std::string longest(kLongestPreamble - kPreamble.size() - 2, 'a');
  EXPECT_EQ(co_await read(executor, "SKIFF-EGRESS/1 " + longest + "\r\nX"), longest + " X");
}

CO_TEST(Preamble, IsRefusedInAnyOtherForm) {
  for (const std::string bytes :
       {"S", "SKIFF-EGRESS/1 abc", "SKIFF-EGRESS/1 abc\n", "SKIFF-EGRESS/1 \r\n", "SKIFF-EGRESS/1 a b\r\n",
        "SKIFF-EGRESS/2 abc\r\n", "skiff-egress/1 abc\r\n", "CONNECT a.org:443 HTTP/1.1\r\n\r\n", "\x05\x01"}) {
    EXPECT_TRUE((co_await read(executor, bytes)).starts_with("none ")) << bytes;
  }
  EXPECT_TRUE(
      (co_await read(executor, "SKIFF-EGRESS/1 " + std::string(kLongestPreamble, 'a') + "\r\n")).starts_with("none"));
}

}  // namespace
}  // namespace skiff::container::egress
