#include "sessions/process/process_looks.hpp"

#include <sys/resource.h>

#include <thread>
#include <vector>

#include "tests/support/reactor_test.hpp"

namespace skiff::sessions {
namespace {

CO_TEST(ProcessLooks, RunOnTheirThreadWhereThatIsSafe) {
  ProcessLooks looks{"test-looks"};
  const auto here = std::this_thread::get_id();
  auto where = [] { return std::this_thread::get_id(); };
  const auto there = co_await looks.run(where);
  EXPECT_EQ(there != here, kernel_features().pidfd);
}

/// When connections have taken all descriptors, the reserve is for the reactor.
CO_TEST(ProcessLooks, RunAgainOnTheReactorWhenNoDescriptorIsLeft) {
  ProcessLooks looks{"test-looks"};
  const LastDescriptors kept;
  const auto here = std::this_thread::get_id();
  std::vector<std::thread::id> threads;
  rlimit before{};
  CO_ASSERT_TRUE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  auto look = [&] {
    // Only the reactor keeps the free descriptors.
    const bool away = std::this_thread::get_id() != here;
    const rlimit none{away ? 0 : before.rlim_cur, before.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    threads.push_back(std::this_thread::get_id());
    return pids_of(Tree{TagSource{}.next()}).size();
  };
  const std::size_t found = co_await looks.run(look);
  EXPECT_EQ(found, 0U);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  CO_ASSERT_TRUE(!threads.empty());
  EXPECT_EQ(threads.back(), here);
  EXPECT_EQ(threads.size(), kernel_features().pidfd ? 2U : 1U);
}

}  // namespace
}  // namespace skiff::sessions
