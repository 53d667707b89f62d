#include "tests/support/interruptions.hpp"

#include <numeric>

#include "tests/support/output_test.hpp"
#include "tests/support/supervised.hpp"

namespace skiff::sessions {
namespace {

using namespace std::chrono_literals;
using test::Interruptions;
using test::Supervised;

/// Waits for the command's end and returns its stdout.
Task<std::string> output_of(std::shared_ptr<Command> command) {
  std::string text;
  Cursor cursor{command->log(), {.from = 0, .only = {}, .lossless = true}};
  while (!cursor.finished()) {
    const LogItem item = co_await test::take(&cursor);
    EXPECT_NE(item.kind, LogItem::Kind::gap);
    if (item.kind == LogItem::Kind::output) text += item.bytes.view();
  }
  co_return text;
}

CO_TEST(Interrupted, CommandsLoseNothing, Supervised& here) {
  const auto session = co_await here.session("s");
  const Interruptions storm;
  const int before = Interruptions::count();
  std::string input(300'000, '\0');
  std::iota(input.begin(), input.end(), '\0');
  for (int round = 0; round < 20 || Interruptions::count() - before < 100; ++round) {
    CommandSpec spec;
    spec.argv = {"/bin/cat"};
    spec.input = input;
    const auto command = session->start(std::move(spec)).value().command;
    const std::string seen = co_await output_of(command);
    EXPECT_TRUE(seen == input) << seen.size();
    co_await command->gone();
    EXPECT_EQ(command->exit_status()->exit_code, 0);
  }
}

CO_TEST(Interrupted, StatefulShellsKeepTheirState, Supervised& here) {
  SessionSpec spec;
  spec.id = "s";
  spec.stateful_shell = true;
  const auto session = (co_await here.registry.create(std::move(spec))).value();
  const Interruptions storm;
  for (int round = 1; round <= 20; ++round) {
    CommandSpec counts;
    counts.line = "count=$((count + 1)); echo $count";
    const auto command = session->start(std::move(counts)).value().command;
    EXPECT_EQ(co_await output_of(command), std::to_string(round) + "\n");
    co_await command->gone();
    EXPECT_EQ(command->exit_status()->state_saved, StateSaved::saved);
  }
}

}  // namespace
}  // namespace skiff::sessions
