#include "container/net/resolver.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/reactor_test.hpp"

namespace skiff::net {
namespace {

CO_TEST(Resolver, KnowsThisMachine) {
  const auto resolve = system_resolver(std::make_shared<BlockingPool>("test", 1));
  auto found = co_await resolve("localhost", 80);
  CO_ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_FALSE(found->empty());
  EXPECT_TRUE(
      std::ranges::all_of(*found, [](const protocol::Address& a) { return a.is_loopback() && a.port() == 80; }));
}

CO_TEST(Resolver, TakesLiteralsAsTheyAre) {
  const auto resolve = system_resolver(std::make_shared<BlockingPool>("test", 1));
  auto four = co_await resolve("192.0.2.1", 443);
  CO_ASSERT_TRUE(four.has_value());
  EXPECT_EQ(four->at(0).text(), "192.0.2.1:443");
  auto six = co_await resolve("2001:db8::1", 443);
  CO_ASSERT_TRUE(six.has_value());
  EXPECT_EQ(six->at(0).text(), "[2001:db8::1]:443");
}

CO_TEST(Resolver, SaysThatANameIsUnknown) {
  const auto resolve = system_resolver(std::make_shared<BlockingPool>("test", 1));
  // No name of DNS: it is refused before any server is asked.
  auto found = co_await resolve("not a name", 80);
  CO_ASSERT_TRUE(!found.has_value());
  EXPECT_EQ(found.error().message.find("look up \"not a name\": "), 0u) << found.error().message;
}

}  // namespace
}  // namespace skiff::net
