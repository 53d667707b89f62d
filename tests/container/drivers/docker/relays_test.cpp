#include "container/drivers/docker/relays.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/reactor_test.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::container::docker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Relays of an engine whose `exec` sends back what it is sent.
struct FewRelays {
  explicit FewRelays(Executor executor) : relays{executor, {.of_container = 2, .all = 3}} {
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  [[nodiscard]] Result<protocol::Stream> connect(const std::string& container) {
    return relays.connect(engine, container, 80);
  }
  [[nodiscard]] Task<> close() { return relays.close(); }

  test::TemporaryDirectory directory;
  std::string program = directory.write("engine", "#!/bin/sh\nexec cat\n");
  Engine engine{program};
  Relays relays;
};

/// Connects as soon as there is a place.
Task<Result<protocol::Stream>> connect_later(FewRelays* on, std::string container) {
  for (;;) {
    auto connected = on->connect(container);
    if (connected || connected.error().code != Errc::resource_exhausted) co_return connected;
    co_await test::pause(1ms);
  }
}

CO_TEST(Relays, CarryBytesBothWays, FewRelays& on) {
  auto stream = on.connect("a");
  CO_ASSERT_TRUE(stream.has_value()) << stream.error().message;
  const std::string_view said = "there and back";
  CO_ASSERT_TRUE((co_await stream->write({&said, 1})).has_value());
  std::string got(said.size(), ' ');
  for (std::size_t size = 0; size < got.size();) {
    const auto more = co_await stream->read_some(std::span{got}.subspan(size));
    CO_ASSERT_TRUE(more && *more > 0);
    size += *more;
  }
  EXPECT_EQ(got, said);
}

CO_TEST(Relays, AreLimitedForAContainerAndInAll, FewRelays& on) {
  std::vector<protocol::Stream> open;
  for (const char* container : {"a", "a", "b"}) {
    if (open.size() == 2) {
      const auto refused = on.connect("a");
      CO_ASSERT_TRUE(!refused.has_value());
      EXPECT_EQ(refused.error().code, Errc::resource_exhausted);
      EXPECT_THAT(refused.error().message, HasSubstr("2 connections to the container are open"));
    }
    auto connected = on.connect(container);
    CO_ASSERT_TRUE(connected.has_value()) << connected.error().message;
    open.push_back(std::move(*connected));
  }
  const auto refused = on.connect("c");
  CO_ASSERT_TRUE(!refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::resource_exhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("3 connections to containers are open"));
}

CO_TEST(Relays, AConnectionThatIsClosedGivesItsPlaceBack, FewRelays& on) {
  std::vector<protocol::Stream> open;
  for (int count = 0; count < 2; ++count) {
    auto connected = on.connect("a");
    CO_ASSERT_TRUE(connected.has_value()) << connected.error().message;
    open.push_back(std::move(*connected));
  }
  open.clear();
  for (int count = 0; count < 2; ++count) {
    auto connected = co_await connect_later(&on, "a");
    CO_ASSERT_TRUE(connected.has_value()) << connected.error().message;
    open.push_back(std::move(*connected));
  }
  EXPECT_FALSE(on.connect("a").has_value());
}

}  // namespace
}  // namespace skiff::container::docker
