#include "sessions/command.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tests/support/supervised.hpp"

namespace skiff::sessions {
namespace {

using namespace std::chrono_literals;
using test::pass;
using test::Supervised;

/// A command whose output waits for a reader that never comes.
CommandSpec held_up() {
  CommandSpec spec;
  spec.argv = {"/usr/bin/yes"};
  spec.keep_bytes = 256 * 1024;
  spec.overflow = Overflow::block;
  return spec;
}

CO_TEST(Command, IsEndedByItsTimeoutAlsoWhileItsOutputWaitsForAReader, Supervised& here) {
  const auto session = here.registry.find("default").value();
  CommandSpec spec = held_up();
  spec.timeout = 50ms;
  const auto command = session->start(std::move(spec)).value().command;
  co_await command->gone();
  CO_ASSERT_TRUE(command->exit_status());
  EXPECT_EQ(command->exit_status()->cause, Cause::timeout);
}

CO_TEST(Command, IsEndedByItsSessionAlsoWhileItsOutputWaitsForAReader, Supervised& here) {
  const auto session = co_await here.session("s");
  const auto command = session->start(held_up()).value().command;
  while (!command->log()->must_wait()) co_await command->log()->changed();
  EXPECT_TRUE(co_await here.registry.erase("s", false));
  CO_ASSERT_TRUE(command->exit_status());
  EXPECT_EQ(command->exit_status()->cause, Cause::session_deleted);
}

CO_TEST(Command, EndsOnceItRunsIfEndedWhileStarting, Supervised& here) {
  const auto session = co_await here.session("s");
  CommandSpec spec;
  spec.argv = {"/bin/sleep", "1000"};
  const auto command = session->start(std::move(spec)).value().command;
  EXPECT_EQ(command->state(), State::starting);
  command->end(Cause::killed_by_client);
  co_await command->gone();
  CO_ASSERT_TRUE(command->exit_status());
  EXPECT_EQ(command->exit_status()->cause, Cause::killed_by_client);
}

CO_TEST(Command, IsGoneWhenEndedThoughAnEscapedProcessHoldsItsPipe, Supervised& here) {
  const auto session = co_await here.session("s");
  CommandSpec spec;
  spec.argv = {"/bin/sleep", "1000"};
  const auto command = session->start(std::move(spec)).value().command;
  co_await command->started();
  // This test's own process is not in the command's tree, like one that removed its tag.
  const std::string pipe = "/proc/" + std::to_string(command->pid()) + "/fd/1";
  const UniqueFd held{::open(pipe.c_str(), O_WRONLY | O_CLOEXEC)};
  CO_ASSERT_TRUE(held.get() >= 0);
  command->end(Cause::killed_by_client);
  co_await command->gone();
  CO_ASSERT_TRUE(command->exit_status());
  EXPECT_EQ(command->exit_status()->kill_level, "tree");
  EXPECT_FALSE(command->exit_status()->output_complete);
}

CO_TEST(Command, FreesItsSlotAtItsEndThoughAnotherProcessHoldsAPipe, Supervised& here) {
  const auto session = co_await here.session("s");
  CommandSpec spec;
  spec.argv = {"/bin/cat"};
  spec.input_open = true;
  const auto command = session->start(std::move(spec)).value().command;
  co_await command->started();
  const std::string pipe = "/proc/" + std::to_string(command->pid()) + "/fd/1";
  {
    const UniqueFd held{::open(pipe.c_str(), O_WRONLY | O_CLOEXEC)};
    CO_ASSERT_TRUE(held.get() >= 0);
    EXPECT_TRUE(co_await command->close_stdin());
    co_await command->log()->exited();
    EXPECT_EQ(here.supervisor.live.count(), 0U);
    EXPECT_FALSE(command->over());
  }
  co_await command->gone();
  EXPECT_EQ(here.supervisor.live.count(), 0U);
}

CO_TEST(Command, FreesItsSlotWhenItsBackgroundProcessesHaveEnded, Supervised& here) {
  const auto session = co_await here.session("s");
  CommandSpec spec;
  spec.argv = {"/bin/sh", "-c", "sleep 1000 & echo $!; read line"};
  spec.input_open = true;
  const auto command = session->start(std::move(spec)).value().command;
  co_await command->started();
  const std::string pipe = "/proc/" + std::to_string(command->pid()) + "/fd/1";
  const UniqueFd held{::open(pipe.c_str(), O_WRONLY | O_CLOEXEC)};
  CO_ASSERT_TRUE(held.get() >= 0);
  EXPECT_TRUE(co_await command->close_stdin());
  co_await command->log()->exited();
  CO_ASSERT_TRUE(command->exit_status()->background.size() == 1);
  EXPECT_EQ(here.supervisor.live.count(), 1U) << "its background is a place's worth";
  ::kill(command->exit_status()->background.front(), SIGKILL);
  while (here.supervisor.live.count() > 0) co_await pass(executor, 2ms);
  EXPECT_FALSE(command->over());
  command->end(Cause::killed_by_client);
  co_await command->gone();
}

}  // namespace
}  // namespace skiff::sessions
