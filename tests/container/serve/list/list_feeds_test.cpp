#include "container/serve/list/list_feeds.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/container/serve/fleet_fixture.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

std::string name_of(const Sandbox& one) {
  return one.name;
}

CO_TEST(ListFeeds, ReadATenantsListOnceForAllItsReaders) {
  FleetFixture on;
  ListFeeds feeds{executor, &on.fleet, &name_of};
  {
    const auto first = feeds.join("one");
    const auto second = feeds.join("one");
    const auto other = feeds.join("two");
    EXPECT_EQ(&first.feed(), &second.feed());
    EXPECT_NE(&first.feed(), &other.feed());
    EXPECT_NE(first.feed().name(), other.feed().name());
    EXPECT_TRUE(co_await first.feed().await_current());
    EXPECT_TRUE(co_await other.feed().await_current());
  }
  co_await feeds.stop();
}

CO_TEST(ListFeeds, KeepAFeedForAClientThatComesAgain) {
  FleetFixture on;
  ListFeeds feeds{executor, &on.fleet, &name_of};
  std::string name;
  {
    const auto first = feeds.join("one");
    EXPECT_TRUE(co_await first.feed().await_current());
    name = first.feed().name();
  }
  {
    const auto again = feeds.join("one");
    EXPECT_EQ(again.feed().name(), name);
    EXPECT_TRUE(co_await again.feed().await_current());
  }
  co_await feeds.stop();
}

CO_TEST(ListFeeds, WakeTheirReadersForADrain) {
  FleetFixture on;
  ListFeeds feeds{executor, &on.fleet, &name_of};
  {
    const auto reader = feeds.join("one");
    EXPECT_TRUE(co_await reader.feed().await_current());
    EXPECT_FALSE(feeds.draining());
    feeds.drain();
    EXPECT_TRUE(feeds.draining());
    co_await feeds.stop();
    EXPECT_TRUE(reader.feed().is_over());
  }
}

}  // namespace
}  // namespace skiff::container::serve
