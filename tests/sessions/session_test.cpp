#include "sessions/session.hpp"

#include <filesystem>

#include "tests/support/supervised.hpp"

namespace skiff::sessions {
namespace {

using namespace std::chrono_literals;
using test::pass;
using test::Supervised;

CO_TEST(Session, IsUsedUntilItsLastCommandHasEnded, Supervised& here) {
  const auto session = co_await here.session("s");
  CommandSpec cat;
  cat.argv = {"/bin/cat"};
  cat.input_open = true;
  const auto command = session->start(std::move(cat)).value().command;
  co_await command->started();
  co_await pass(executor, 2ms);
  const SteadyTime before_the_end = std::chrono::steady_clock::now();
  EXPECT_LT(session->last_used(), before_the_end);
  EXPECT_TRUE(co_await command->close_stdin());
  co_await command->gone();
  co_await pass(executor, 1ms);
  EXPECT_GE(session->last_used(), before_the_end) << "its idle time begins with the command's end";
}

CO_TEST(Session, IsIdleAfterThePatchedTimeout, Supervised& here) {
  const auto session = co_await here.session("s");
  SessionPatch patch;
  patch.idle_timeout = std::optional{1ms};
  EXPECT_TRUE(session->patch(patch));
  co_await session->closing();
  EXPECT_FALSE(here.registry.find("s"));
}

CO_TEST(Session, ReopensItsRootOnceItIsCreatedAgain, Supervised& here) {
  SessionSpec spec;
  spec.id = "s";
  spec.root = "own";
  const auto session = (co_await here.registry.create(std::move(spec))).value();
  CO_ASSERT_TRUE(co_await session->tree());
  std::filesystem::remove(here.directory.path() / "own");
  std::filesystem::create_directories(here.directory.path() / "own" / "fresh");
  const auto tree = co_await session->tree();
  CO_ASSERT_TRUE(tree);
  EXPECT_TRUE((*tree)->open_directory("fresh"));
}

}  // namespace
}  // namespace skiff::sessions
