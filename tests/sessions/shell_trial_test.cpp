#include "sessions/shell_trial.hpp"

#include "tests/support/supervised.hpp"

namespace skiff::sessions {
namespace {

using test::Supervised;

CO_TEST(ShellTrial, RefusesAShellThatKeepsNoState, Supervised& here) {
  SessionSpec spec;
  spec.id = "s";
  spec.shell = "/bin/true";
  spec.stateful_shell = true;
  SessionSpec asked = spec;
  const auto refused = co_await here.registry.create(std::move(asked));
  EXPECT_FALSE(refused);
  if (!refused) EXPECT_EQ(refused.error().code, Errc::shell_unsuitable);
  EXPECT_FALSE(here.registry.find("s"));
  spec.shell = "/bin/sh";
  const auto made = co_await here.registry.create(std::move(spec));
  EXPECT_TRUE(made);
  if (made) EXPECT_TRUE((*made)->commands().empty());
}

}  // namespace
}  // namespace skiff::sessions
