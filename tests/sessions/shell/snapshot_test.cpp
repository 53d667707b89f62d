#include "sessions/shell/snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skiff::sessions {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kDash =
    "#posix\n/work\n#umask\n0027\n#variables\n"
    "A='x y'\nB='q'\"'\"'q\nexport EVIL=1'\nIFS=' \t\n'\nPPID='7'\nPWD='/work'\nR='1'\nbad-name='x'\nrun=$(date)\n"
    "#exported\nexport B='q'\"'\"'q\nexport EVIL=1'\nexport U\nexport PWD='/work'\n#readonly\nreadonly R='1'\n"
    "#aliases\nll='ls -l'\na;b='x'\nit='it'\"'\"'s'\n#ok\n";

constexpr std::string_view kBash =
    "#bash\n/w\n#umask\n0022\n#options\nshopt -s expand_aliases\nshopt -u extglob\nshopt -s nullglob\n"
    "shopt -u sourcepath\nshopt -u compat31\nshopt -s login_shell\n#variables\n"
    "declare -- A=\"x y\"\ndeclare -x B=$'q\\'q\\n'\ndeclare -ax ARR=([0]=\"1\")\ndeclare -ir UID=\"0\"\n"
    "declare -- COLUMNS=\"80\"\ndeclare -x LINES=\"24\"\ndeclare -x NOVALUE\n#aliases\nalias hi='echo hi'\n"
    "#attributes\ndeclare -f f\ndeclare -fx g\n#functions\nf () \n{ \n    echo '\n#ok\n}\ng () { :; }\n#ok\n";

ShellSnapshot snapshot(std::string_view dump) {
  auto read = ShellSnapshot::read(dump);
  EXPECT_TRUE(read.has_value());
  return std::move(read).value();
}

Variables exported(const ShellSnapshot& from) {
  Environment environment;
  from.apply_exported(environment);
  return environment.variables();
}

TEST(ShellSnapshot, ParsesTheStateOfAPosixShell) {
  const auto now = snapshot(kDash);
  EXPECT_EQ(now.dialect(), Dialect::posix);
  EXPECT_EQ(now.cwd(), "/work");
  EXPECT_EQ(now.script({}, 8),
            "\\exec 8<&-\nA='x y'\nB='q'\"'\"'q\nexport EVIL=1'\n\\command readonly R='1'\n"
            "\\command export B U\n\\command umask 0027\n\\command alias ll='ls -l'\n"
            "\\command alias it='it'\"'\"'s'\n");
  EXPECT_EQ(exported(now), (Variables{{"B", "q'q\nexport EVIL=1"}}));
}

TEST(ShellSnapshot, LeavesOutLinesThatWouldBeRun) {
  const std::string script = snapshot(kDash).script({}, 8);
  EXPECT_THAT(script, Not(HasSubstr("date")));
  EXPECT_THAT(script, Not(HasSubstr("a;b")));
  EXPECT_THAT(script, Not(HasSubstr("bad-name")));
}

TEST(ShellSnapshot, ParsesTheStateOfBash) {
  const auto now = snapshot(kBash);
  EXPECT_EQ(now.dialect(), Dialect::bash);
  EXPECT_TRUE(now.expand_aliases());
  EXPECT_FALSE(now.extglob());
  EXPECT_EQ(now.script({}, 8),
            "\\exec 8<&-\nshopt -u expand_aliases\nshopt -s extglob nullglob\nshopt -u sourcepath\n"
            "declare -- A=\"x y\"\ndeclare -ax ARR=([0]=\"1\")\ndeclare -x B=$'q\\'q\\n'\ndeclare -x LINES=\"24\"\n"
            "declare -x NOVALUE\numask 0022\nalias hi='echo hi'\n"
            "f () \n{ \n    echo '\n#ok\n}\ng () { :; }\ndeclare -fx g\n");
  EXPECT_EQ(exported(now), (Variables{{"B", "q'q\n"}, {"LINES", "24"}}));
}

TEST(ShellSnapshot, GivesABashVariableItsValueBeforeAnAttributeThatWouldChangeIt) {
  const auto now = snapshot(
      "#bash\n/\n#umask\n0022\n#variables\ndeclare -irx A=\"a b\"\ndeclare -ai B=([0]=\"x y\")\n"
      "declare -u C=\"c\"\ndeclare -inr D=\"A\"\ndeclare -i E\n#ok\n");
  EXPECT_EQ(now.script({}, 8),
            "\\exec 8<&-\nshopt -u expand_aliases\nshopt -s extglob\ndeclare -x A=\"a b\"\ndeclare -ir A\n"
            "declare -a B=([0]=\"x y\")\ndeclare -i B\ndeclare -- C=\"c\"\ndeclare -u C\ndeclare -nr D=\"A\"\n"
            "declare -i E\numask 0022\n");
  EXPECT_EQ(exported(now), (Variables{{"A", "a b"}}));
}

TEST(ShellSnapshot, SkipsTextWrittenBeforeTheCommand) {
  EXPECT_EQ(snapshot("#reading\n#begun\n#posix\n/b\n#umask\n0022\n#ok\n").cwd(), "/b");
  const auto stayed = snapshot("#start\n/a\n#reading\n#begun\n#posix\n/a\n#umask\n0022\n#ok\n");
  EXPECT_TRUE(stayed.stayed());
}

TEST(ShellSnapshot, IsEmptyWhenTheShellDidNotFinish) {
  for (const std::string_view whole : {kDash, kBash}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      // A function may contain a line that looks like the end.
      if (whole.substr(0, size).ends_with("\n#ok\n")) continue;
      ASSERT_EQ(ShellSnapshot::read(whole.substr(0, size)).has_value(), false) << size;
    }
  }
  EXPECT_FALSE(ShellSnapshot::read("#posix\n/\n#umask\n0022\n#variables\nA='open\n#ok\n"));
  EXPECT_FALSE(ShellSnapshot::read("#zsh\n/\n#umask\n0022\n#ok\n"));
}

TEST(ShellSnapshot, ReadsADirectoryWithANewlineAndAnUnknownOne) {
  EXPECT_EQ(snapshot("#posix\n/a\nb\n#umask\n0022\n#ok\n").cwd(), "/a\nb");
  EXPECT_EQ(snapshot("#posix\n#umask\n0022\n#ok\n").cwd(), "");
  EXPECT_EQ(snapshot("#posix\nrelative\n#umask\n0022\n#ok\n").cwd(), "");
}

TEST(ShellSnapshot, KnowsWhetherTheCommandStayedInItsDirectory) {
  EXPECT_TRUE(snapshot("#start\n/a\n#posix\n/a\n#umask\n0022\n#ok\n").stayed());
  EXPECT_FALSE(snapshot("#start\n/a\n#posix\n/b\n#umask\n0022\n#ok\n").stayed());
  EXPECT_FALSE(snapshot("#posix\n/b\n#umask\n0022\n#ok\n").stayed());
}

TEST(ShellSnapshot, RestoresTheSessionsVariables) {
  const auto before = snapshot("#posix\n/\n#umask\n0022\n#variables\nA='old'\nB='old'\n#exported\nexport A\n#ok\n");
  auto now = snapshot("#posix\n/\n#umask\n0022\n#variables\nA='own'\nB='new'\nC='own'\n#exported\nexport C\n#ok\n");
  now.put_back({"A", "C"}, &before);
  EXPECT_EQ(now.script({}, 8), "\\exec 8<&-\nA='old'\nB='new'\n\\command export A\n\\command umask 0022\n");
}

TEST(ShellSnapshot, LeavesNamesOut) {
  EXPECT_THAT(snapshot(kDash).script({"A", "U"}, 8), Not(HasSubstr("A=")));
  EXPECT_THAT(snapshot(kBash).script({"B"}, 8), Not(HasSubstr("declare -x B")));
}

TEST(ShellSnapshot, RestrictsAnEnvironmentToWhatIsStillExported) {
  auto now = snapshot(kDash);
  now.put_back({"GIVEN"}, nullptr);
  const Variables given{
      {"A", "1"},     {"B", "1"}, {"GIVEN", "1"}, {"GONE", "1"}, {"PWD", "/x"}, {"a.b", "1"}, {"BASH_FUNC_f%%", "() {"},
      {"SECRET", "1"}};
  Environment environment{given};
  now.restrict(environment, {"SECRET"});
  EXPECT_EQ(
      environment.variables(),
      (Variables{{"B", "1"}, {"GIVEN", "1"}, {"PWD", "/x"}, {"a.b", "1"}, {"BASH_FUNC_f%%", "() {"}, {"SECRET", "1"}}));
  snapshot(kBash).restrict(environment, {});
  EXPECT_FALSE(environment.contains("BASH_FUNC_f%%")) << "its functions are in the snapshot";
}

TEST(ShellSnapshot, KeepsANameUntouchedUntilTheSessionHasItsOwn) {
  auto first = snapshot("#posix\n/\n#umask\n0022\n#ok\n");
  first.put_back({"A"}, nullptr);
  auto second = snapshot("#posix\n/\n#umask\n0022\n#ok\n");
  second.put_back({"A"}, &first);
  const Variables given{{"A", "1"}};
  Environment environment{given};
  second.restrict(environment, {});
  EXPECT_TRUE(environment.contains("A"));
  const auto third = snapshot("#posix\n/\n#umask\n0022\n#ok\n");
  third.restrict(environment, {});
  EXPECT_FALSE(environment.contains("A")) << "that command could unset it, and did";
}

}  // namespace
}  // namespace skiff::sessions
