#include "sessions/condition.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/async/task_group.hpp"
#include "base/unique_fd.hpp"
#include "tests/support/output_test.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::sessions {
namespace {

using test::kKiB;
using test::Logs;
using test::write;

/// A TCP socket that has a free port of the address, and its port.
std::pair<UniqueFd, std::uint16_t> bound_to(std::uint32_t host) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(host);
  socklen_t size = sizeof address;
  UniqueFd holder{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  EXPECT_EQ(::bind(holder.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(holder.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return {std::move(holder), ntohs(address.sin_port)};
}

CO_TEST(ListeningTcp, PassesOverTheAgentsOwnListenersForNames) {
  BlockingPool pool{"test", 1};
  ListeningTcp listening{executor, pool};
  const auto [holder, port] = bound_to(0x7F400009);
  CO_ASSERT_TRUE(::listen(holder.get(), 1) == 0);
  const bool is_listening = co_await listening.has(port, SteadyTime::clock::now());
  EXPECT_FALSE(is_listening);
}

CO_TEST(ListeningTcp, FindsListeningPorts) {
  BlockingPool pool{"test", 1};
  ListeningTcp listening{executor, pool};
  const auto [holder, port] = bound_to(INADDR_LOOPBACK);
  EXPECT_FALSE(co_await listening.has(port, SteadyTime::clock::now()));
  const SteadyTime before = SteadyTime::clock::now();
  CO_ASSERT_TRUE(::listen(holder.get(), 1) == 0);
  EXPECT_FALSE(co_await listening.has(port, SteadyTime{})) << "an older look will do";
  EXPECT_TRUE(co_await listening.has(port, before));
  co_await until_listening(&listening, port);
}

CO_TEST(UntilExists, RefusesPathsOutsideTheRoots) {
  const test::TemporaryDirectory directory;
  std::filesystem::create_directory_symlink("/etc", directory.path() / "out");
  const auto tree = std::make_shared<const fs::Tree>(fs::Tree::open({.path = directory.path().string()}).value());
  BlockingPool pool{"test", 1};
  const auto at_the_link = co_await until_exists(&pool, tree, "out");
  EXPECT_TRUE(at_the_link);
  for (const char* path : {"out/passwd", "out/nothing", "../x"}) {
    const auto outside = co_await until_exists(&pool, tree, path);
    CO_ASSERT_TRUE(!outside);
    EXPECT_EQ(outside.error().code, Errc::path_escapes_root) << path;
  }
}

CO_TEST(OutputPattern, MatchesAcrossItemsOfOneStream) {
  Logs logs{executor};
  PatternThread thread{executor};
  const auto log = logs.make();
  write(*log, Stream::out, "listen");
  write(*log, Stream::err, "noise");
  write(*log, Stream::out, "ing on 80");
  write(*log, Stream::err, "more");
  const OutputPattern pattern = (co_await OutputPattern::compile(&thread, "listening on [0-9]+")).value();
  const auto found = co_await pattern.search(log);
  EXPECT_TRUE(found.found);
  EXPECT_EQ(found.text, "listening on 80");
  EXPECT_EQ(found.next, 20U) << "what comes behind it is still to be seen";
}

CO_TEST(OutputPattern, ReportsNoMatchAtTheEndOfTheLog) {
  Logs logs{executor};
  PatternThread thread{executor};
  const auto log = logs.make();
  write(*log, Stream::out, "some text");
  log->exit({});
  log->end();
  const OutputPattern pattern = (co_await OutputPattern::compile(&thread, "other")).value();
  const auto found = co_await pattern.search(log);
  EXPECT_FALSE(found.found);
  EXPECT_EQ(found.next, 9U);
}

CO_TEST(OutputPattern, MatchesAnAnchorOnlyAtTheBeginning) {
  Logs logs{executor};
  PatternThread thread{executor};
  const auto log = logs.make();
  write(*log, Stream::out, "a");
  for (int i = 0; i < 40; ++i) write(*log, Stream::out, std::string(5000, 'b'));
  log->exit({});
  log->end();
  const OutputPattern pattern = (co_await OutputPattern::compile(&thread, "^b")).value();
  const auto found = co_await pattern.search(log);
  EXPECT_FALSE(found.found);
}

Task<> search_for_nothing(PatternThread* thread, std::shared_ptr<OutputLog> log, bool* done) {
  const OutputPattern pattern = (co_await OutputPattern::compile(thread, "never")).value();
  const auto found = co_await pattern.search(std::move(log));
  EXPECT_FALSE(found.found);
  *done = true;
}

CO_TEST(OutputPattern, SearchesALongLogWithoutBlockingOtherWork) {
  Logs logs{executor};
  PatternThread thread{executor};
  const auto log = logs.make(8 * 1024 * kKiB);
  // A change of the stream ends an item, so this writes twenty thousand items.
  for (int i = 0; i < 20'000; ++i)
    write(*log, i % 2 == 0 ? Stream::out : Stream::err, "a line of thirty-two characters\n");
  log->exit({});
  log->end();
  TaskGroup tasks{executor};
  bool done = false;
  tasks.spawn("search", search_for_nothing(&thread, log, &done));
  int turns = 0;
  while (!done) {
    ++turns;
    co_await boost::asio::post(executor, use_task);
  }
  EXPECT_GE(turns, 4);
  co_await tasks.join();
}

Task<> take_turns(PatternThread* thread, int times, std::string name, std::string* order) {
  for (int i = 0; i < times; ++i) {
    const bool there = co_await thread->run([] { return true; });
    EXPECT_TRUE(there);
    *order += name;
  }
}

CO_TEST(PatternThread, GivesTurnsInTheOrderTheyWereAskedFor) {
  PatternThread thread{executor};
  TaskGroup tasks{executor};
  std::string order;
  for (const char* name : {"a", "b", "c"}) tasks.spawn(name, take_turns(&thread, 3, name, &order));
  co_await tasks.join();
  EXPECT_EQ(order, "abcabcabc") << "who has much to search keeps nobody from a turn";
}

CO_TEST(PatternThread, ContinuesWhenAWaiterIsCancelled) {
  PatternThread thread{executor};
  std::string order;
  TaskGroup first{executor};
  TaskGroup second{executor};
  TaskGroup third{executor};
  std::mutex held;
  held.lock();
  first.spawn("holder", [](PatternThread* of, std::mutex* until, std::string* done) -> Task<> {
    auto work = [until] {
      const std::lock_guard lock{*until};
      return true;
    };
    (void)co_await of->run(std::move(work));
    *done += "h";
  }(&thread, &held, &order));
  second.spawn("gives up", take_turns(&thread, 1, "g", &order));
  third.spawn("stays", take_turns(&thread, 1, "s", &order));
  for (int i = 0; i < 10; ++i) co_await boost::asio::post(executor, use_task);
  second.cancel();
  co_await second.join();
  held.unlock();
  co_await first.join();
  co_await third.join();
  EXPECT_EQ(order, "hs");
}

CO_TEST(OutputPattern, RefusesAnInvalidPatternWithTheReason) {
  PatternThread thread{executor};
  const auto broken = co_await OutputPattern::compile(&thread, "(");
  CO_ASSERT_TRUE(!broken);
  EXPECT_EQ(broken.error().code, Errc::invalid_field);
}

}  // namespace
}  // namespace skiff::sessions
