#include "base/async/deadline.hpp"

#include <memory>

#include <boost/asio/post.hpp>

#include "base/async/event.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff {
namespace {

using namespace std::chrono_literals;

CO_TEST(Deadline, FiresOnceItsTimeIsOver) {
  Event fired{executor};
  int count = 0;
  Deadline deadline{executor, [&] {
                      ++count;
                      fired.notify_all();
                    }};
  const auto start = std::chrono::steady_clock::now();
  deadline.expires_after(5ms);
  EXPECT_FALSE(deadline.expired());
  co_await fired.wait();
  EXPECT_GE(std::chrono::steady_clock::now() - start, 5ms);
  EXPECT_TRUE(deadline.expired());
  EXPECT_EQ(count, 1);
}

CO_TEST(Deadline, FiresAtTheLaterTimeWhenItIsMovedThere) {
  Event fired{executor};
  int count = 0;
  Deadline deadline{executor, [&] {
                      ++count;
                      fired.notify_all();
                    }};
  const auto start = std::chrono::steady_clock::now();
  deadline.expires_after(1ms);
  deadline.expires_after(40ms);
  co_await fired.wait();
  EXPECT_GE(std::chrono::steady_clock::now() - start, 40ms);
  EXPECT_EQ(count, 1);
}

CO_TEST(Deadline, FiresAtTheEarlierTimeWhenItIsMovedThere) {
  Event fired{executor};
  Deadline deadline{executor, [&] { fired.notify_all(); }};
  deadline.expires_after(1h);
  deadline.expires_after(1ms);
  co_await fired.wait();
  EXPECT_TRUE(deadline.expired());
}

CO_TEST(Deadline, FiresAtAPointInTime) {
  Event fired{executor};
  Deadline deadline{executor, [&] { fired.notify_all(); }};
  const auto time = std::chrono::steady_clock::now() + 5ms;
  deadline.expires_at(time);
  co_await fired.wait();
  EXPECT_GE(std::chrono::steady_clock::now(), time);
  EXPECT_TRUE(deadline.expired());
}

CO_TEST(Deadline, StaysSilentWhenItIsCleared) {
  Event over{executor};
  bool fired = false;
  Deadline deadline{executor, [&] { fired = true; }};
  Deadline later{executor, [&] { over.notify_all(); }};
  deadline.expires_after(1ms);
  deadline.clear();
  later.expires_after(20ms);
  co_await over.wait();
  EXPECT_FALSE(fired);

  // The deadline can be set again afterwards.
  Event again{executor};
  Deadline reused{executor, [&] { again.notify_all(); }};
  reused.expires_after(1h);
  reused.clear();
  reused.expires_after(1ms);
  co_await again.wait();
  EXPECT_TRUE(reused.expired());
}

CO_TEST(Deadline, DoesNotFireAfterItsDestruction) {
  bool fired = false;
  Event over{executor};
  auto deadline = std::make_unique<Deadline>(executor, [&] { fired = true; });
  deadline->expires_after(1ms);
  deadline.reset();
  Deadline later{executor, [&] { over.notify_all(); }};
  later.expires_after(20ms);
  co_await over.wait();
  EXPECT_FALSE(fired);
}

}  // namespace
}  // namespace skiff
