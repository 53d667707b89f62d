#include "runtime/api/ports/local_server.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <string>

#include "protocol/net/listener.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::runtime::api {
namespace {

using namespace std::chrono_literals;

protocol::Address local(std::string_view host, std::uint16_t port) {
  return *protocol::Address::ip(host, port);
}

CO_TEST(ConnectToPort, TriesBothLoopbackAddresses) {
  for (const std::string_view host : {"127.0.0.1", "::1"}) {
    auto listener = protocol::Listener::open(executor, local(host, 0));
    if (!listener && host == "::1") continue;  // there is no IPv6 here
    CO_ASSERT_TRUE(listener.has_value());
    const std::uint16_t port = (*listener)->address().port();
    auto stream = co_await connect_to_port(port, 5s, executor);
    CO_ASSERT_TRUE(stream.has_value()) << stream.error().message;
    EXPECT_EQ(stream->peer(), local(host, port).text());
  }
}

CO_TEST(ConnectToPort, ReportsThatNoServerListens) {
  std::uint16_t port = 0;
  {
    auto listener = protocol::Listener::open(executor, local("127.0.0.1", 0));
    CO_ASSERT_TRUE(listener.has_value());
    port = (*listener)->address().port();
  }
  auto stream = co_await connect_to_port(port, 5s, executor);
  CO_ASSERT_TRUE(!stream.has_value());
  EXPECT_EQ(stream.error().code, Errc::port_not_listening);
  EXPECT_EQ(stream.error().field, "port");
}

}  // namespace
}  // namespace skiff::runtime::api
