#include "container/host/host_process.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "base/id.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/reactor_test.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::container {
namespace {

using namespace std::chrono_literals;
using test::create_pipe;
using test::Pipe;

/// A shell as a daemon, and the first line that it prints.
struct Daemon {
  HostProcess process;
  std::string line;
};

Daemon start(const std::string& script, std::vector<std::string> environment = {"PATH=/usr/bin:/bin"}) {
  Pipe output = create_pipe();
  auto process = start_daemon({.argv = {"/bin/sh", "-c", script, "argument-of-" + script},
                               .environment = std::move(environment),
                               .directory = "/",
                               .output = output.write.get(),
                               .is_daemon = true});
  output.write.reset();
  if (!process) return {};
  std::string line;
  char c = 0;
  while (::read(output.read.get(), &c, 1) == 1 && c != '\n') line += c;
  return {*process, line};
}

TEST(HostProcess, IsKnownByMoreThanItsPid) {
  const auto self = find_process(::getpid());
  ASSERT_TRUE(self);
  EXPECT_TRUE(is_alive(*self));
  HostProcess other = *self;
  other.started_ticks += 1;
  EXPECT_FALSE(is_alive(other));
  other = *self;
  other.boot = "another boot";
  EXPECT_FALSE(is_alive(other));
  EXPECT_FALSE(is_alive({}));
}

CO_TEST(HostProcess, IsADaemonAndEndsWhenAsked) {
  const Daemon daemon = start("echo $(pwd) $(ls /proc/self/fd | wc -l) $(ps -o sid= -p $$); exec sleep 1000");
  CO_ASSERT_TRUE(is_alive(daemon.process));
  // The list itself is open while ls reads it.
  EXPECT_EQ(daemon.line, "/ 4 " + std::to_string(daemon.process.pid));
  EXPECT_TRUE(co_await end_process(daemon.process, 10s));
  EXPECT_FALSE(is_alive(daemon.process));
  EXPECT_TRUE(co_await end_process(daemon.process, 10s)) << "one that is gone needs no end";
}

CO_TEST(HostProcess, IsKilledWhenItDoesNotListen) {
  const Daemon daemon = start("trap '' TERM; echo ready; while :; do sleep 0.01; done");
  CO_ASSERT_TRUE(daemon.line == "ready");
  EXPECT_TRUE(co_await end_process(daemon.process, 50ms));
  EXPECT_FALSE(is_alive(daemon.process));
}

CO_TEST(HostProcess, AChildGivesItsStatus) {
  const auto child = start_daemon({.argv = {"/bin/sh", "-c", "exit 3"}, .directory = "/", .is_daemon = true});
  CO_ASSERT_TRUE(child.has_value());
  const auto status = co_await child_end(*child, 60s);
  CO_ASSERT_TRUE(status.has_value());
  EXPECT_EQ(WEXITSTATUS(*status), 3);
  const auto sleeping = start_daemon({.argv = {"/bin/sleep", "1000"}, .directory = "/", .is_daemon = true});
  CO_ASSERT_TRUE(sleeping.has_value());
  EXPECT_FALSE((co_await child_end(*sleeping, 10ms)).has_value());
  EXPECT_TRUE((co_await end_process(*sleeping, 0ms)).has_value());
}

CO_TEST(HostProcess, IsFoundByAnArgumentAndByAVariable) {
  const std::string id = new_id("s");
  const Daemon daemon = start("echo ready; exec sleep 1000 # " + id, {"PATH=/usr/bin:/bin", "MARK=" + id});
  CO_ASSERT_TRUE(daemon.line == "ready");
  auto found = processes_with_variable("MARK=" + id);
  // While it becomes `sleep` it has no variables for a moment (execve(2)).
  while (found.empty()) {
    co_await test::pause(1ms);
    found = processes_with_variable("MARK=" + id);
  }
  CO_ASSERT_TRUE(found.size() == 1);
  EXPECT_EQ(found.front(), daemon.process);
  EXPECT_TRUE(processes_with_variable("MARK=" + id.substr(1)).empty());
  EXPECT_TRUE(processes_with_argument(id).empty()) << "a part of an argument is none";
  EXPECT_TRUE(co_await end_process(daemon.process, 10s));
  EXPECT_TRUE(processes_with_variable("MARK=" + id).empty());
}

TEST(HostProcess, TellsWhatCanNotBeStarted) {
  const auto process = start_daemon({.argv = {"/no/such/program"}, .directory = "/", .is_daemon = true});
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().code, Errc::path_not_found);
  EXPECT_NE(process.error().message.find("/no/such/program"), std::string::npos);
}

}  // namespace
}  // namespace skiff::container
