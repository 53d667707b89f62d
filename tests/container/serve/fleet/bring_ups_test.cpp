#include "container/serve/fleet/bring_ups.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/async/event.hpp"
#include "base/async/task_group.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

using namespace std::chrono_literals;

const BringUps::Which kDemo{"tenant", "demo"};

/// A bring-up that does what the test says.
struct HeldWork {
  explicit HeldWork(Executor executor) : changed{executor} {}

  [[nodiscard]] BringUps::Work work() {
    return [this](Progress progress) { return run(this, std::move(progress)); };
  }
  static Task<Result<Made>> run(HeldWork* self, Progress progress) {
    self->progress = std::move(progress);
    while (!self->outcome) co_await self->changed.wait();
    co_return *self->outcome;
  }
  void end(Result<Made> how) {
    outcome = std::move(how);
    changed.notify_all();
  }

  Event changed;
  Progress progress;
  std::optional<Result<Made>> outcome = {};
};

Made demo() {
  Made made;
  made.is_new = true;
  made.sandbox.name = "demo";
  return made;
}

/// The result of `begin`, as a word.
std::string word_of(const Result<std::optional<Made>>& begun) {
  if (!begun) return std::string{name(begun.error().code)};
  return *begun ? "made" : "goes on";
}

Task<> begin_into(BringUps* all, BringUps::Work work, std::optional<std::string>* into) {
  const auto begun = co_await all->begin(kDemo, std::move(work));
  *into = word_of(begun);
}

Task<> run_to_its_end(BringUps* all, BringUps::Work work) {
  (void)co_await all->run(kDemo, std::move(work));
}

/// Lets what is ready to run do so.
Task<> turn() {
  for (int i = 0; i < 10; ++i) co_await boost::asio::post(co_await boost::asio::this_coro::executor, use_task);
}

CO_TEST(BringUps, AreAnsweredWithTheirFirstStepAndGoOn) {
  BringUps all{executor};
  HeldWork held{executor};
  TaskGroup tasks{executor};
  std::optional<std::string> answer;
  tasks.spawn("begin", begin_into(&all, held.work(), &answer));
  co_await turn();
  EXPECT_FALSE(answer);
  EXPECT_EQ(all.find(kDemo), nullptr);
  held.progress(Phase::scheduling, "first");
  co_await tasks.join();
  EXPECT_EQ(answer, "goes on");
  const auto seen = all.find(kDemo);
  CO_ASSERT_TRUE(seen != nullptr);
  EXPECT_EQ(seen->steps.front().detail, "first");
  held.end(demo());
  co_await all.finish(std::chrono::steady_clock::now() + 10s);
  EXPECT_EQ(all.find(kDemo), nullptr);
  EXPECT_FALSE(all.failure(kDemo));
  CO_ASSERT_TRUE(seen->outcome && *seen->outcome);
  EXPECT_EQ((*seen->outcome)->sandbox.name, "demo");
}

CO_TEST(BringUps, ThatAreRefusedBeforeTheirFirstStepAreNeverSeen) {
  BringUps all{executor};
  const BringUps::Work refuse = [](Progress) -> Task<Result<Made>> {
    co_return fail(Errc::sandbox_conflict, "the name is taken");
  };
  const auto begun = co_await all.begin(kDemo, refuse);
  EXPECT_EQ(word_of(begun), "sandbox_conflict");
  EXPECT_FALSE(all.failure(kDemo));
  co_await all.stop();
}

CO_TEST(BringUps, AreRememberedWhenTheyHaveFailedUntilTheNextOne) {
  BringUps all{executor};
  const BringUps::Work fails = [](Progress progress) -> Task<Result<Made>> {
    progress(Phase::starting, "");
    co_return fail(Errc::sandbox_failed, "no");
  };
  const BringUps::Work works = [](Progress progress) -> Task<Result<Made>> {
    progress(Phase::starting, "");
    co_return demo();
  };
  EXPECT_FALSE((co_await all.run(kDemo, fails)).has_value());
  CO_ASSERT_TRUE(all.failure(kDemo).has_value());
  EXPECT_EQ(all.failure(kDemo)->code, Errc::sandbox_failed);
  EXPECT_FALSE(all.failure({"other", "demo"}));
  EXPECT_TRUE((co_await all.run(kDemo, works)).has_value());
  EXPECT_FALSE(all.failure(kDemo));
}

CO_TEST(BringUps, KeepTheReasonsOfTheLastFailuresOnly) {
  BringUps all{executor};
  const BringUps::Work fails = [](Progress progress) -> Task<Result<Made>> {
    progress(Phase::starting, "");
    co_return fail(Errc::sandbox_failed, "no");
  };
  for (std::size_t i = 0; i <= BringUps::kKeptFailures; ++i) {
    EXPECT_FALSE((co_await all.run({"tenant", std::to_string(i)}, fails)).has_value());
  }
  EXPECT_FALSE(all.failure({"tenant", "0"}));
  EXPECT_TRUE(all.failure({"tenant", "1"}));
  EXPECT_TRUE(all.failure({"tenant", std::to_string(BringUps::kKeptFailures)}));
}

CO_TEST(BringUps, KeepTheirNewestStepsShort) {
  BringUps all{executor};
  const std::string text = std::string(BringUps::kLongestDetail - 1, 'a') + "\u00e4";
  const BringUps::Work works = [&](Progress progress) -> Task<Result<Made>> {
    for (std::size_t i = 0; i < 3 * BringUps::kMostSteps; ++i) progress(Phase::pulling, text);
    progress(Phase::ready, "");
    const auto seen = all.find(kDemo);
    EXPECT_EQ(seen->steps.size(), BringUps::kMostSteps);
    EXPECT_EQ(seen->forgotten, 2 * BringUps::kMostSteps);
    EXPECT_EQ(seen->steps.back().detail, std::string(BringUps::kLongestDetail - 1, 'a'));
    EXPECT_EQ(seen->steps.back().phase, Phase::pulling);
    co_return demo();
  };
  EXPECT_TRUE((co_await all.run(kDemo, works)).has_value());
}

CO_TEST(BringUps, ShowTheFirstOfTwoThatAreAtTheSameOne) {
  BringUps all{executor};
  HeldWork first{executor};
  HeldWork second{executor};
  TaskGroup tasks{executor};
  std::optional<std::string> of_first;
  TaskGroup beside{executor};
  tasks.spawn("first", begin_into(&all, first.work(), &of_first));
  beside.spawn("second", run_to_its_end(&all, second.work()));
  first.progress(Phase::scheduling, "first");
  second.progress(Phase::scheduling, "second");
  co_await tasks.join();
  EXPECT_EQ(all.find(kDemo)->steps.front().detail, "first");
  second.end(fail(Errc::sandbox_failed, "no"));
  co_await beside.join();
  EXPECT_EQ(all.find(kDemo)->steps.front().detail, "first");
  first.end(demo());
  co_await all.finish(std::chrono::steady_clock::now() + 10s);
  // A caller that keeps the function may call it later.
  first.progress(Phase::starting, "late");
  EXPECT_EQ(all.find(kDemo), nullptr);
}

CO_TEST(BringUps, AreOneForAllWhoAskForTheSame) {
  BringUps all{executor};
  HeldWork held{executor};
  TaskGroup tasks{executor};
  std::optional<std::string> answer;
  tasks.spawn("begin", begin_into(&all, held.work(), &answer));
  held.progress(Phase::scheduling, "");
  co_await tasks.join();
  const BringUps::Work never = [](Progress) -> Task<Result<Made>> { co_return fail(Errc::internal, "a second one"); };
  for (int i = 0; i < 2'000; ++i) {
    EXPECT_EQ(word_of(co_await all.begin(kDemo, never, {.wants_any = true})), "goes on");
  }
  EXPECT_EQ(word_of(co_await all.begin(kDemo, never)), "sandbox_conflict");
  EXPECT_EQ(word_of(co_await all.begin(kDemo, never, {.request = "another"})), "sandbox_conflict");
  TaskGroup beside{executor};
  std::optional<bool> is_new;
  beside.spawn("run", [](BringUps* all, BringUps::Work work, std::optional<bool>* is_new) -> Task<> {
    auto made = co_await all->run(kDemo, std::move(work), {.wants_any = true});
    EXPECT_TRUE(made.has_value());
    if (made) *is_new = made->is_new;
  }(&all, never, &is_new));
  held.end(demo());
  co_await beside.join();
  EXPECT_EQ(is_new, false);
  co_await all.stop();
}

CO_TEST(BringUps, OfOneTenantLeaveSomeToTheNext) {
  BringUps all{executor};
  HeldWork held{executor};
  const BringUps::Work goes_on = [&held](Progress progress) {
    progress(Phase::scheduling, "");
    return HeldWork::run(&held, [](Phase, std::string_view) {});
  };
  std::size_t begun = 0;
  for (; begun < BringUps::kMostAtOnce; ++begun) {
    const auto one = co_await all.begin({"greedy", std::to_string(begun)}, goes_on);
    if (one) continue;
    EXPECT_EQ(one.error().code, Errc::resource_exhausted);
    break;
  }
  EXPECT_EQ(begun, BringUps::kMostAtOnce / 2);
  EXPECT_EQ(word_of(co_await all.begin(kDemo, goes_on)), "goes on");
  held.end(demo());
  co_await all.finish(std::chrono::steady_clock::now() + 10s);
}

CO_TEST(BringUps, AreGivenUpWhenTheyMustEnd) {
  BringUps all{executor};
  HeldWork held{executor};
  TaskGroup tasks{executor};
  std::optional<std::string> answer;
  tasks.spawn("begin", begin_into(&all, held.work(), &answer));
  held.progress(Phase::scheduling, "");
  co_await tasks.join();
  const auto seen = all.find(kDemo);
  co_await all.finish(std::chrono::steady_clock::now());
  EXPECT_FALSE(seen->outcome);
  co_await all.stop();
  CO_ASSERT_TRUE(seen->outcome && !*seen->outcome);
  EXPECT_EQ(seen->outcome->error().code, Errc::cancelled);
}

}  // namespace
}  // namespace skiff::container::serve
