#include "runtime/egress/names/loopback_names.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include <boost/asio/post.hpp>

#include "tests/support/egress_stand_in.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::runtime::egress {
namespace {

using protocol::Address;
using protocol::Listener;
using Ports = std::vector<std::uint16_t>;

struct Table {
  explicit Table(Executor on) : proxy{on}, names{on, &proxy.helper, 20}, free{open_any(on)}, other{open_any(on)} {
    // These ports are nobody's from here on.
    free->close();
    other->close();
  }
  static std::unique_ptr<Listener> open_any(Executor on) {
    return Listener::open(on, Address::parse("127.64.0.1:0").value()).value();
  }
  Task<> stop() {
    co_await names.stop();
    co_await proxy.stop();
  }
  [[nodiscard]] std::uint16_t port() const { return free->address().port(); }
  [[nodiscard]] std::uint16_t other_port() const { return other->address().port(); }
  Result<std::uint32_t> open(const std::string& name, const Ports& ports) { return names.open(name, ports, now); }
  /// All that a connection to the address gets, which says this.
  Task<std::string> say(std::uint32_t address, std::uint16_t at, std::string_view text) {
    const std::string host = "127.64." + std::to_string(address >> 8U & 0xFFU) + "." + std::to_string(address & 0xFFU);
    auto client = co_await protocol::connect(Address::ip(host, at).value(), std::chrono::seconds{10}, proxy.executor);
    if (!client) co_return "refused";
    if (!co_await test::EgressStandIn::say(&*client, text)) co_return "broken";
    co_return co_await test::EgressStandIn::read_to(&*client, "the end, which nobody says");
  }

  test::EgressStandIn proxy;
  LoopbackNames names;
  std::unique_ptr<Listener> free;
  std::unique_ptr<Listener> other;
  SteadyTime now = std::chrono::steady_clock::now();
};

CO_TEST(LoopbackNames, CarriesWhatComesToTheServerOfThatName, Table& on) {
  const auto one = on.open("one.example", {on.port(), on.other_port()});
  const auto two = on.open("two.example", {on.port()});
  CO_ASSERT_TRUE(one && two && *one != *two);
  const std::string port = std::to_string(on.port());
  const std::string first = co_await on.say(*one, on.port(), "hello!");
  EXPECT_EQ(first, "one.example:" + port + " hello!");
  const std::string second = co_await on.say(*two, on.port(), "hello!");
  EXPECT_EQ(second, "two.example:" + port + " hello!");
  const std::string absent = co_await on.say(*two, on.other_port(), "hello!");
  EXPECT_EQ(absent, "refused");
  EXPECT_EQ(on.open("one.example", {on.port()}).value(), *one) << "the address stays";
  const std::string removed = co_await on.say(*one, on.other_port(), "hello!");
  EXPECT_EQ(removed, "refused");
}

CO_TEST(LoopbackNames, GivesAnAlertOfTlsIfTheProxyRefuses, Table& on) {
  const auto one = on.open("one.example", {on.port()});
  CO_ASSERT_TRUE(one);
  on.proxy.answers["CONNECT one.example:" + std::to_string(on.port()) + " HTTP/1.1"] = test::EgressStandIn::kNotAllowed;
  const std::string denied = co_await on.say(*one, on.port(), "hello!");
  EXPECT_EQ(denied, (std::string{"\x15\x03\x01\x00\x02\x02\x31", 7}));
}

CO_TEST(LoopbackNames, ClosesListenersThatNobodyUses, Table& on) {
  const auto one = on.open("one.example", {on.port()});
  on.now += LoopbackNames::kQuiet / 2;
  CO_ASSERT_TRUE(one && on.open("two.example", {on.port()}));
  on.names.rest(on.now + LoopbackNames::kQuiet / 2);
  EXPECT_EQ(on.names.listeners(), 1U);
  const std::string closed = co_await on.say(*one, on.port(), "hello!");
  EXPECT_EQ(closed, "refused");
  EXPECT_EQ(on.open("one.example", {on.port()}).value(), *one);
  const std::string again = co_await on.say(*one, on.port(), "hello!");
  EXPECT_NE(again, "refused");
  on.names.close("one.example");
  on.names.close("unknown.example");
  EXPECT_EQ(on.names.listeners(), 1U);
}

CO_TEST(LoopbackNames, KeepsTheListenersOfANameWithAConnection, Table& on) {
  const auto one = on.open("one.example", {on.port()});
  CO_ASSERT_TRUE(one);
  auto client = co_await protocol::connect(Address::ip("127.64.0.1", on.port()).value(), std::chrono::seconds{10},
                                           on.proxy.executor);
  CO_ASSERT_TRUE(client && co_await test::EgressStandIn::say(&*client, "hel"));
  while (on.proxy.heard.empty()) co_await boost::asio::post(on.proxy.executor, use_task);
  on.names.rest(on.now + std::chrono::hours{1});
  EXPECT_EQ(on.names.listeners(), 1U);
  // Nor does it go when there are more names than it has places for.
  for (std::size_t i = 0; i < LoopbackNames::kNames + 10; ++i) {
    CO_ASSERT_TRUE(on.open("n" + std::to_string(i) + ".example", {on.port()})) << i;
    EXPECT_LE(on.names.listeners(), 20U);
  }
  CO_ASSERT_TRUE(co_await test::EgressStandIn::say(&*client, "lo!"));
  const std::string told = co_await test::EgressStandIn::read_to(&*client, "!");
  EXPECT_EQ(told, "one.example:" + std::to_string(on.port()) + " hello!");
}

CO_TEST(LoopbackNames, GivesNoAddressTwice, Table& on) {
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 3000; ++i) {
    const auto address = on.open("n" + std::to_string(i) + ".example", {on.port()});
    CO_ASSERT_TRUE(address);
    EXPECT_TRUE(seen.insert(*address).second);
    EXPECT_EQ(*address >> 22U, 0x7F400000U >> 22U);
  }
  EXPECT_EQ(on.names.listeners(), 20U);
  co_return;
}

CO_TEST(LoopbackNames, SaysIfItCanListenOnNoPort, Table& on) {
  const auto taken = Listener::open(on.proxy.executor, Address::parse("0.0.0.0:0").value()).value();
  const std::uint16_t port = taken->address().port();
  EXPECT_FALSE(on.open("one.example", {port}));
  EXPECT_TRUE(on.open("one.example", {port, on.port()})) << "the others work";
  EXPECT_EQ(on.names.listeners(), 1U);
  Ports many;
  for (std::uint16_t i = 0; i < 100; ++i) many.push_back(static_cast<std::uint16_t>(20'000 + i));
  EXPECT_TRUE(on.open("two.example", many));
  EXPECT_LE(on.names.listeners(), 20U);
  co_return;
}

}  // namespace
}  // namespace skiff::runtime::egress
