#include "sessions/output/fair_scheduler.hpp"

#include <string>

#include <boost/asio/post.hpp>

#include "base/async/task_group.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::sessions {
namespace {

Task<> move(Turns& turns, std::string& order, char name, int times) {
  for (int i = 0; i < times; ++i) {
    co_await turns.next();
    order += name;
  }
}

Task<> other_work(Executor executor, std::string& order, int times) {
  for (int i = 0; i < times; ++i) {
    order += '.';
    co_await boost::asio::post(executor, use_task);
  }
}

CO_TEST(Turns, GoToWaitersInTheirOrder) {
  Turns turns{executor};
  TaskGroup group{executor};
  std::string order;
  for (const char name : {'a', 'b', 'c'}) group.spawn("mover", move(turns, order, name, 3));
  co_await group.join();
  // The first has its turn at once, and asks for its next one before the others ask.
  EXPECT_EQ(order, "aabcabcbc");
}

CO_TEST(Turns, LetOtherWorkRunInBetween) {
  Turns turns{executor};
  TaskGroup group{executor};
  std::string order;
  for (const char name : {'a', 'b', 'c', 'd'}) group.spawn("mover", move(turns, order, name, 1));
  group.spawn("other", other_work(executor, order, 8));
  co_await group.join();
  for (const char* pair : {"ab", "bc", "cd"}) EXPECT_EQ(order.find(pair), std::string::npos) << order;
}

CO_TEST(Turns, SkipACancelledWaiter) {
  Turns turns{executor};
  TaskGroup leaving{executor};
  TaskGroup staying{executor};
  std::string order;
  staying.spawn("mover", move(turns, order, 'a', 1));
  leaving.spawn("mover", move(turns, order, 'b', 1));
  staying.spawn("mover", move(turns, order, 'c', 1));
  leaving.cancel();
  co_await leaving.join();
  co_await staying.join();
  EXPECT_EQ(order, "ac");
}

CO_TEST(Turns, AreTakenAtOnceWhenFree) {
  Turns turns{executor};
  EXPECT_TRUE(turns.take());
  EXPECT_FALSE(turns.take());
  co_await turns.next();
  EXPECT_FALSE(turns.take());
}

CO_TEST(Turns, AreSmallWhenManyWait) {
  Turns turns{executor};
  EXPECT_EQ(turns.bytes(), Turns::kMost);
  TaskGroup group{executor};
  std::string order;
  for (int i = 0; i < 100; ++i) group.spawn("mover", move(turns, order, '.', 1));
  EXPECT_EQ(turns.bytes(), Turns::kLeast);
  co_await group.join();
  co_await turns.next();
  EXPECT_EQ(turns.bytes(), Turns::kMost);
}

}  // namespace
}  // namespace skiff::sessions
