#include "sessions/shell/script.hpp"

#include <sys/mman.h>
#include <sys/wait.h>

#include <array>

#include <gmock/gmock.h>

#include "tests/support/child.hpp"

namespace skiff::sessions {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Outcome {
  std::string out;
  int status = -1;
  std::optional<ShellSnapshot> after;
};

/// Runs a script like a command.
Outcome run_script(const ShellScript& script) {
  const auto file = [](std::string_view content) {
    UniqueFd made{::memfd_create("file", MFD_CLOEXEC)};
    EXPECT_EQ(::write(made.get(), content.data(), content.size()), static_cast<ssize_t>(content.size()));
    return made;
  };
  SpawnRequest request;
  request.argv = script.argv();
  request.env = {"PATH=/usr/bin:/bin", ShellScript::kVariable + ("=" + script.text())};
  request.cwd = "/";
  if (script.is_long()) request.extra.emplace_back(file(script.command_file()), ShellScript::kCommandFd);
  if (script.before != nullptr) {
    request.extra.emplace_back(file(script.before->script({}, ShellScript::kSnapshotFd)), ShellScript::kSnapshotFd);
  }
  UniqueFd dump = file("");
  request.extra.emplace_back(::fcntl(dump.get(), F_DUPFD_CLOEXEC, 0), ShellScript::kDumpFd);
  auto ran = test::run(std::move(request));
  Outcome outcome{.out = std::move(ran.out), .status = ran.status, .after = std::nullopt};
  std::string text(static_cast<std::size_t>(::lseek(dump.get(), 0, SEEK_CUR)), '\0');
  EXPECT_EQ(::pread(dump.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  outcome.after = ShellSnapshot::read(text);
  return outcome;
}

constexpr std::array kShells{"/bin/dash", "/bin/bash"};

TEST(ShellScript, IsOneLineAndStaysOutOfTheArguments) {
  ShellScript script{.shell = "/bin/sh", .command = "echo\nhi"};
  EXPECT_THAT(script.text(), Not(HasSubstr("\n")));
  EXPECT_THAT(script.argv(), ElementsAre("/bin/sh", "-c", "\\eval \"$__skiff_sh\"", "/bin/sh", "echo\nhi"));
  script.login = true;
  EXPECT_EQ(script.argv().at(1), "-l");
}

TEST(ShellScript, TakesALongCommandFromAFile) {
  const std::string text(ShellScript::kLongestArgument + 1, ' ');
  const ShellScript script{.shell = "/bin/sh", .command = text};
  EXPECT_EQ(script.argv().size(), 4U);
  EXPECT_EQ(script.command_file(), "\\exec 7<&-;" + text);
}

TEST(ShellScript, PassesItsStateToTheNext) {
  for (const char* shell : kShells) {
    const auto first = run_script({.shell = shell, .command = "V='a b'; export W=1; cd /tmp; (exit 3)"});
    EXPECT_EQ(WEXITSTATUS(first.status), 3) << shell;
    ASSERT_TRUE(first.after) << shell;
    EXPECT_EQ(first.after->cwd(), "/tmp");
    const auto second =
        run_script({.shell = shell, .command = "echo $V $W $PWD", .before = &*first.after, .cwd = "/tmp"});
    EXPECT_EQ(second.out, "a b 1 /tmp\n") << shell;
    EXPECT_TRUE(second.after) << shell;
  }
}

TEST(ShellScript, DetectsTheShellWithoutItsName) {
  EXPECT_EQ(run_script({.shell = "/bin/dash", .command = ""}).after.value().dialect(), Dialect::posix);
  EXPECT_EQ(run_script({.shell = "/bin/bash", .command = ""}).after.value().dialect(), Dialect::bash);
}

TEST(ShellScript, DumpsNothingWhenAskedOrWhenTheShellLeavesEarly) {
  for (const char* shell : kShells) {
    const auto quiet = run_script({.shell = shell, .command = "echo hi; (exit 4)", .dumps = false});
    EXPECT_EQ(quiet.out, "hi\n");
    EXPECT_EQ(WEXITSTATUS(quiet.status), 4);
    EXPECT_FALSE(quiet.after);
    EXPECT_FALSE(run_script({.shell = shell, .command = "exit 0"}).after);
  }
}

TEST(ShellScript, RunsALongCommandTheSameWay) {
  for (const char* shell : kShells) {
    const std::string text = "echo $#; V=1; echo " + std::string(200'000, 'x') + " | wc -c; (exit 5)";
    const auto ran = run_script({.shell = shell, .command = text});
    EXPECT_EQ(ran.out, "0\n200001\n");
    EXPECT_EQ(WEXITSTATUS(ran.status), 5);
    EXPECT_TRUE(ran.after) << shell;
  }
}

}  // namespace
}  // namespace skiff::sessions
