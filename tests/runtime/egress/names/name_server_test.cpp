#include "runtime/egress/names/name_server.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

#include "runtime/egress/names/dns_message.hpp"
#include "tests/support/egress_stand_in.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::runtime::egress {
namespace {

using namespace std::string_literals;
using protocol::Address;
using protocol::Stream;

std::string asks_for(const std::string& name, char type = 1) {
  return "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"s + name + "\0\0"s + type + "\0\1"s;
}
const std::string kAllowed = "\4pypi\3org"s;
const std::string kDenied = "\4evil\3org"s;

struct Server {
  explicit Server(Executor on) : proxy{on}, names{on, &proxy.helper, 20} {
    EXPECT_TRUE(names.listen(Address::parse("127.0.0.1:0").value()));
    // This port is nobody's, as far as anybody can tell.
    proxy.allow("pypi.org", std::to_string(names.address().port()));
  }
  Task<> stop() {
    co_await names.stop();
    co_await proxy.stop();
  }
  /// A socket that sends datagrams to the server.
  [[nodiscard]] Stream datagrams() const {
    UniqueFd socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    EXPECT_EQ(::connect(socket.get(), names.address().data(), names.address().size()), 0);
    return {proxy.executor, std::move(socket), "server"};
  }
  static Task<std::string> ask(Stream* server, std::string query) {
    if (!co_await test::EgressStandIn::say(server, query)) co_return "broken";
    std::array<char, 600> block{};
    const auto got = co_await server->read_some(block, std::chrono::seconds{20});
    co_return got ? std::string{block.data(), *got} : got.error().message;
  }

  test::EgressStandIn proxy;
  NameServer names;
};

unsigned code_of(const std::string& answer) {
  return answer.size() < 12 ? 99U : static_cast<unsigned char>(answer[3]) & 15U;
}

CO_TEST(NameServer, HasAnAddressForANameThatARuleAllows, Server& on) {
  Stream udp = on.datagrams();
  const std::string answer = co_await Server::ask(&udp, asks_for(kAllowed));
  EXPECT_EQ(code_of(answer), 0U);
  EXPECT_TRUE(answer.ends_with("\0\0\0\x0a\0\4\x7f\x40\0\1"s)) << answer;
  auto client = co_await protocol::connect(Address::ip("127.64.0.1", on.names.address().port()).value(),
                                           std::chrono::seconds{10}, on.proxy.executor);
  CO_ASSERT_TRUE(client && co_await test::EgressStandIn::say(&*client, "hello!"));
  const std::string told = co_await test::EgressStandIn::read_to(&*client, "!");
  EXPECT_TRUE(told.starts_with("pypi.org:")) << told;
}

CO_TEST(NameServer, KnowsNoOtherNames, Server& on) {
  Stream udp = on.datagrams();
  const std::string evil = co_await Server::ask(&udp, asks_for(kDenied));
  EXPECT_EQ(code_of(evil), 3U);
  const std::string odd = co_await Server::ask(&udp, asks_for("\4py\0i\3org"s));
  EXPECT_EQ(code_of(odd), 3U);
  EXPECT_EQ(on.proxy.heard.size(), 1U) << "the proxy is asked for host names alone";
}

CO_TEST(NameServer, HasNoOtherRecordsAndAsksNobodyForThem, Server& on) {
  Stream udp = on.datagrams();
  for (const char type : {'\x0c', '\x41'}) {
    const std::string answer = co_await Server::ask(&udp, asks_for(kDenied, type));
    EXPECT_EQ(code_of(answer), 0U);
    EXPECT_EQ(answer.substr(6, 2), "\0\0"s);
  }
  EXPECT_TRUE(on.proxy.heard.empty());
}

CO_TEST(NameServer, SaysTheSameForBothFamilies, Server& on) {
  Stream udp = on.datagrams();
  for (const bool is_away : {false, true}) {
    if (is_away) on.proxy.listener->close();
    const std::string denied = co_await Server::ask(&udp, asks_for(kDenied, '\x1c'));
    EXPECT_EQ(code_of(denied), is_away ? 2U : 3U);
    const std::string allowed = co_await Server::ask(&udp, asks_for(kAllowed, '\x1c'));
    EXPECT_EQ(code_of(allowed), is_away ? 2U : 0U);
    EXPECT_EQ(allowed.substr(6, 2), "\0\0"s) << "it has no address of IPv6";
  }
}

CO_TEST(NameServer, AsksTheProxyOnceForBothFamilies, Server& on) {
  Stream udp = on.datagrams();
  CO_ASSERT_TRUE(co_await test::EgressStandIn::say(&udp, asks_for(kDenied)));
  const std::string one = co_await Server::ask(&udp, asks_for(kDenied, '\x1c'));
  std::array<char, 600> block{};
  const auto other = co_await udp.read_some(block, std::chrono::seconds{20});
  CO_ASSERT_TRUE(other);
  EXPECT_EQ(code_of(one), 3U);
  EXPECT_EQ(code_of({block.data(), *other}), 3U);
  EXPECT_EQ(on.proxy.heard.size(), 1U);
}

CO_TEST(NameServer, DoesNotTakeAProxyThatIsAwayForANo, Server& on) {
  on.proxy.listener->close();
  Stream udp = on.datagrams();
  const std::string answer = co_await Server::ask(&udp, asks_for(kAllowed));
  EXPECT_EQ(code_of(answer), 2U);
}

CO_TEST(NameServer, AnswersByTcp, Server& on) {
  auto tcp = co_await protocol::connect(on.names.address(), std::chrono::seconds{10}, on.proxy.executor);
  CO_ASSERT_TRUE(tcp);
  for (int i = 0; i < 2; ++i) {
    const std::string query = asks_for(kDenied);
    const std::string answer = co_await Server::ask(&*tcp, "\0"s + static_cast<char>(query.size()) + query);
    EXPECT_EQ(code_of(answer.substr(2)), 3U);
  }
  // A message that is too long ends the connection.
  const std::string end = co_await Server::ask(&*tcp, "\xff\xff"s);
  EXPECT_EQ(end, "");
}

CO_TEST(NameServer, ClosesConnectionsThatAreTooMany, Server& on) {
  std::vector<Stream> held;
  for (std::size_t i = 0; i <= NameServer::kConnections; ++i) {
    auto one = co_await protocol::connect(on.names.address(), std::chrono::seconds{10}, on.proxy.executor);
    CO_ASSERT_TRUE(one);
    held.push_back(std::move(*one));
  }
  std::array<char, 1> block{};
  const auto got = co_await held.back().read_some(block, std::chrono::seconds{20});
  EXPECT_EQ(got.value_or(0), 0U);
}

CO_TEST(NameServer, AnswersOthersAmongManyThatAreWrong, Server& on) {
  Stream udp = on.datagrams();
  Stream flood = on.datagrams();
  // As many as fit into the socket.
  for (int i = 0; i < 200; ++i) {
    const std::array<std::string_view, 1> wrong{i % 2 == 0 ? "x" : "\x12\x34\x81\x80"};
    EXPECT_TRUE(flood.try_write(wrong));
  }
  const std::string answer = co_await Server::ask(&udp, asks_for(kDenied));
  EXPECT_EQ(code_of(answer), 3U);
}

}  // namespace
}  // namespace skiff::runtime::egress
