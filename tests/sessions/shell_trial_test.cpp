#include "sessions/shell_trial.hpp"

#include <filesystem>
#include <optional>
#include <string>

#include "base/async/beside.hpp"
#include "tests/support/files_test.hpp"
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

CO_TEST(ShellTrial, EndsWithTheAgent, Supervised& here) {
  const std::string shell = here.directory.path() / "shell";
  const std::string begun = here.directory.path() / "begun";
  test::put(shell, "#!/bin/sh\n: > " + begun + "\nexec sleep 1000\n");
  std::filesystem::permissions(shell, std::filesystem::perms::owner_all);
  std::optional<Errc> outcome;
  const auto create = [](Supervised* on, std::string path, std::optional<Errc>* told) -> Task<> {
    SessionSpec spec;
    spec.id = "s";
    spec.shell = std::move(path);
    spec.stateful_shell = true;
    const auto refused = co_await on->registry.create(std::move(spec));
    *told = refused ? Errc::internal : refused.error().code;
  };
  const auto stop = [](Supervised* on, std::string file) -> Task<> {
    while (!std::filesystem::exists(file)) co_await test::pause(std::chrono::milliseconds{5});
    co_await on->registry.drain();
  };
  co_await run_beside(stop(&here, begun), create(&here, shell, &outcome));
  EXPECT_EQ(outcome, Errc::draining);
}

}  // namespace
}  // namespace skiff::sessions
