#include "container/process/spawn.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/unique_fd.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::container {
namespace {

using test::create_pipe;
using test::Pipe;

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t got = 0; (got = ::read(fd, piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

int status_of(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Spawn shell(const std::string& script) {
  return {.argv = {"/bin/sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin", "A=b c"}};
}

/// The output of the program, once it has ended.
std::string printed_by(Spawn plan) {
  Pipe output = create_pipe();
  plan.output = output.write.get();
  const auto pid = spawn(plan);
  output.write.reset();
  if (!pid) return "errno " + std::to_string(pid.error());
  std::string text = read_all(output.read.get());
  const int status = status_of(*pid);
  return status == 0 ? text : text + "status " + std::to_string(status);
}

/// Children of this process that nobody has waited for.
bool has_children() {
  return ::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD;
}

TEST(Spawn, GivesTheProgramWhatIsSaid) {
  EXPECT_EQ(printed_by(shell("echo \"$A\"; env | grep -c -v -e PWD= -e SHLVL= -e _=; exit 7")), "b c\n2\nstatus 7");
  Spawn elsewhere = shell("pwd; cat; echo nobody reads this >&2");
  elsewhere.directory = "/usr";
  EXPECT_EQ(printed_by(elsewhere), "/usr\n") << "stdin has an end at once";
  Spawn named = shell("echo found");
  named.argv.front() = "sh";
  EXPECT_EQ(printed_by(named), "found\n");
}

TEST(Spawn, TellsWhyItStartedNothingAndLeavesNothing) {
  const test::TemporaryDirectory directory;
  const std::string trace = directory / "trace";
  const std::size_t before = test::open_descriptors();
  for (int times = 0; times < 20; ++times) {
    EXPECT_EQ(printed_by({.argv = {"/no/such/program"}}), "errno " + std::to_string(ENOENT));
    EXPECT_EQ(printed_by({.argv = {"skiff-no-such-program"}}), "errno " + std::to_string(ENOENT));
    EXPECT_EQ(printed_by({.argv = {"/etc/passwd"}}), "errno " + std::to_string(EACCES));
    Spawn nowhere = shell("touch " + trace);
    nowhere.directory = "/no/such/directory";
    EXPECT_EQ(printed_by(nowhere), "errno " + std::to_string(ENOENT));
    EXPECT_FALSE(std::filesystem::exists(trace)) << "it ran all the same";
  }
  EXPECT_FALSE(has_children());
  EXPECT_EQ(test::open_descriptors(), before);
}

/// Ignores a signal while it lives. It uses the system call: the C library keeps 32 and 33 for itself.
class Ignored {
 public:
  explicit Ignored(int signal) : signal_{signal} {
    const Action ignore{.handler = SIG_IGN};
    EXPECT_EQ(::syscall(SYS_rt_sigaction, signal_, &ignore, &before_, sizeof before_.mask), 0) << signal_;
  }
  ~Ignored() { ::syscall(SYS_rt_sigaction, signal_, &before_, nullptr, sizeof before_.mask); }
  Ignored(const Ignored&) = delete;
  Ignored& operator=(const Ignored&) = delete;

 private:
  struct Action {
    void (*handler)(int) = nullptr;
    unsigned long flags = 0;
    void (*restorer)() = nullptr;
    std::uint64_t mask = 0;
  };
  int signal_;
  Action before_;
};

TEST(Spawn, ADaemonHasASessionOfItsOwnAndNoSignalIsIgnored) {
  const Ignored by_us{SIGUSR1};
  const Ignored last{64};
  // As in all that GNU make starts, since posix_spawn(3) leaves them so.
  const Ignored cancel{32};
  const Ignored set_ids{33};
  // Without a shell: some of them unblock all signals.
  Spawn plan{.argv = {"awk", "/^SigBlk|^SigIgn/ { print $2 }", "/proc/self/status"}};
  const std::string nothing = "0000000000000000\n";
  const std::string said = printed_by(plan);
  EXPECT_TRUE(said.starts_with(nothing)) << "nothing is blocked: " << said;
  EXPECT_NE(said, nothing + nothing) << "what we ignore is ignored";
  plan.is_daemon = true;
  EXPECT_EQ(printed_by(plan), nothing + nothing);
  Spawn session = shell("test $(ps -o sid= -p $$) = $$");
  session.is_daemon = true;
  EXPECT_EQ(printed_by(session), "");
}

/// Threads that open descriptors which a child would inherit, and that start children, all at once.
TEST(Spawn, ChildrenHaveThreeDescriptorsWhateverOtherThreadsOpen) {
  std::atomic<bool> over{false};
  std::vector<std::thread> openers;
  for (int i = 0; i < 3; ++i) {
    openers.emplace_back([&over] {
      while (!over) {
        const UniqueFd file{::open("/dev/null", O_RDONLY)};  // without O_CLOEXEC, as a library may
        std::array<int, 2> ends{};
        if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) continue;
        const UniqueFd one{ends[0]};
        const UniqueFd other{ends[1]};
      }
    });
  }
  std::vector<std::thread> starters;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 4; ++i) {
    starters.emplace_back([&wrong] {
      for (int times = 0; times < 25; ++times) {
        // This program goes on: if it inherited the pipes of another start, that start and this test would wait for
        // ever.
        const Spawn stays{.argv = {"/bin/sleep", "1000"}};
        const auto pid = spawn(stays);
        // The list itself is open while ls reads it.
        if (!pid || printed_by(shell("ls /proc/self/fd | tr '\\n' ' '")) != "0 1 2 3 ") ++wrong;
        if (!pid) continue;
        ::kill(*pid, SIGKILL);
        status_of(*pid);
      }
    });
  }
  for (std::thread& starter : starters) starter.join();
  over = true;
  for (std::thread& opener : openers) opener.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(has_children());
}

}  // namespace
}  // namespace skiff::container
