#include "container/drivers/local/driver.hpp"

#include <gtest/gtest.h>

#include "protocol/net/listener.hpp"
#include "tests/support/reactor_test.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::container {
namespace {

using namespace std::chrono_literals;

/// A process in the place of an agent; it listens to nothing.
HostProcess start_something() {
  return start_daemon({.argv = {"/bin/sleep", "1000"}, .directory = "/", .is_daemon = true}).value_or(HostProcess{});
}

// The functions that start agents are tested with real ones in tests/integration/cli.
CO_TEST(LocalDriver, DialsNoPortThatADeadAgentHasLeftToOthers) {
  const test::TemporaryDirectory directory;
  auto state = StateDirectory::open(directory / "state");
  CO_ASSERT_TRUE(state.has_value()) << state.error().message;
  CO_ASSERT_TRUE(create_private_directory(state->path() / "local").has_value());
  const HostRecords records{state->path() / "local"};
  auto listener = protocol::Listener::open(executor, protocol::Address::ip("127.0.0.1", 0).value()).value();
  const HostProcess agent = start_something();
  CO_ASSERT_TRUE(is_alive(agent));
  HostRecord record;
  record.name = "box";
  record.id = "s1";
  record.port = listener->address().port();
  record.set_process(agent);
  CO_ASSERT_TRUE(records.add(record).has_value());

  LocalDriver driver{std::move(*state)};
  auto endpoint = co_await driver.endpoint("box", {});
  CO_ASSERT_TRUE(endpoint.has_value()) << endpoint.error().message;
  {
    auto stream = co_await endpoint->client.dial(10s);
    EXPECT_TRUE(stream.has_value()) << stream.error().message;
  }
  CO_ASSERT_TRUE((co_await end_process(agent, 10s)).has_value());
  {
    auto stream = co_await endpoint->client.dial(10s);
    CO_ASSERT_TRUE(!stream.has_value()) << "whoever listens there now would be told the token";
    EXPECT_EQ(stream.error().code, Errc::sandbox_not_running);
  }
  // Started anew, it is another one: its port and its token are.
  const HostProcess successor = start_something();
  record.set_process(successor);
  CO_ASSERT_TRUE(records.save(record).has_value());
  {
    auto stream = co_await endpoint->client.dial(10s);
    EXPECT_EQ(stream ? "" : stream.error().message, "sandbox \"box\" was started again in the meantime");
  }
  EXPECT_TRUE((co_await end_process(successor, 10s)).has_value());
}

}  // namespace
}  // namespace skiff::container
