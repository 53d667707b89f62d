#include "sessions/condition.hpp"

#include <memory>
#include <string>

#include <boost/asio/post.hpp>

#include "base/task_group.hpp"
#include "tests/support/output_test.hpp"

namespace skiff::sessions {
namespace {

using test::kKiB;
using test::Logs;
using test::write;

OutputPattern compiled_pattern(const std::string& text) {
  return OutputPattern::compile(text).value();
}

CO_TEST(OutputPattern, IsFoundAcrossItemsOfOneStream) {
  Logs logs{executor};
  const auto log = logs.make();
  write(*log, Stream::out, "listen");
  write(*log, Stream::err, "noise");
  write(*log, Stream::out, "ing on 80");
  write(*log, Stream::err, "more");
  const OutputPattern pattern = compiled_pattern("listening on [0-9]+");
  const auto found = co_await pattern.search(log);
  EXPECT_TRUE(found.found);
  EXPECT_EQ(found.text, "listening on 80");
  EXPECT_EQ(found.next, 20U) << "what comes behind it is still to be seen";
}

CO_TEST(OutputPattern, ThatIsNotThereIsToldAtTheEnd) {
  Logs logs{executor};
  const auto log = logs.make();
  write(*log, Stream::out, "some text");
  log->exit({});
  log->end();
  const OutputPattern pattern = compiled_pattern("other");
  const auto found = co_await pattern.search(log);
  EXPECT_FALSE(found.found);
  EXPECT_EQ(found.next, 9U);
}

CO_TEST(OutputPattern, OfABeginningMatchesTheBeginningAlone) {
  Logs logs{executor};
  const auto log = logs.make();
  write(*log, Stream::out, "a");
  for (int i = 0; i < 40; ++i) write(*log, Stream::out, std::string(5000, 'b'));
  log->exit({});
  log->end();
  const OutputPattern pattern = compiled_pattern("^b");
  const auto found = co_await pattern.search(log);
  EXPECT_FALSE(found.found);
}

Task<> search_for_nothing(std::shared_ptr<OutputLog> log, bool* done) {
  const OutputPattern pattern = compiled_pattern("never");
  const auto found = co_await pattern.search(std::move(log));
  EXPECT_FALSE(found.found);
  *done = true;
}

CO_TEST(OutputPattern, IsLookedForInALongLogWhileOthersGoOn) {
  Logs logs{executor};
  const auto log = logs.make(8 * 1024 * kKiB);
  // A change of the stream ends an item: twenty thousand of them.
  for (int i = 0; i < 20'000; ++i)
    write(*log, i % 2 == 0 ? Stream::out : Stream::err, "a line of thirty-two characters\n");
  log->exit({});
  log->end();
  TaskGroup tasks{executor};
  bool done = false;
  tasks.spawn("search", search_for_nothing(log, &done));
  int turns = 0;
  while (!done) {
    ++turns;
    co_await boost::asio::post(executor, use_task);
  }
  EXPECT_GE(turns, 4);
  co_await tasks.join();
}

}  // namespace
}  // namespace skiff::sessions
