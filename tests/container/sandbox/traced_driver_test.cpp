#include "container/sandbox/traced_driver.hpp"

#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/container/sandbox/refusing_driver.hpp"
#include "tests/support/reactor_test.hpp"

// The spans are those of tests/integration/cli/test_traces.py.
namespace skiff::container {
namespace {

/// A driver of a server, whose host is away.
class CopyingDriver final : public fakes::RefusingDriver, public Pools {
 public:
  void keep_copies() override { keeps_copies = true; }
  Task<> await_copies(SteadyTime) override {
    has_waited = true;
    co_return;
  }
  Task<Result<>> check_answers() override { co_return fail(Errc::cluster_unavailable, "away"); }
  Task<Result<Sandbox>> get_recent(std::string name) override {
    Sandbox one;
    one.name = std::move(name);
    co_return one;
  }
  std::unique_ptr<ListWatch> watch_list(Executor, std::function<void()> changed) override {
    changed();
    return nullptr;
  }
  Pools* pools() noexcept override { return this; }

  Task<Result<PoolStatus>> create(PoolSpec, Progress) override { co_return fail(Errc::not_supported, "no"); }
  Task<Result<Sandbox>> create(SandboxSpec, Progress) override { co_return fail(Errc::not_supported, "no"); }
  Task<Result<PoolStatus>> scale(std::string, unsigned, std::chrono::milliseconds, Progress) override {
    co_return fail(Errc::not_supported, "no");
  }
  Task<Result<PoolStatus>> status(std::string) override { co_return fail(Errc::not_supported, "no"); }
  Task<Result<std::vector<PoolStatus>>> list() override { co_return std::vector<PoolStatus>{}; }
  Task<Result<SandboxPage>> list(SandboxFilter) override { co_return SandboxPage{}; }
  Task<Result<bool>> remove(std::string) override { co_return false; }
  Task<Result<bool>> remove(std::string, Removal) override { co_return false; }
  Task<Result<std::vector<kube::Object>>> manifest_of(PoolSpec) override { co_return fail(Errc::not_supported, "no"); }
  Task<Result<PoolHealth>> heal() override { co_return PoolHealth{.missing = 3}; }

  bool keeps_copies = false;
  bool has_waited = false;
};

CO_TEST(TracedDriver, PassesOnWhatAServerNeeds) {
  auto own = std::make_unique<CopyingDriver>();
  CopyingDriver& inner = *own;
  const auto traced = trace_driver(std::move(own), {});
  traced->keep_copies();
  co_await traced->await_copies({});
  EXPECT_TRUE(inner.keeps_copies && inner.has_waited);
  const auto answers = co_await traced->check_answers();
  CO_ASSERT_TRUE(!answers.has_value());
  EXPECT_EQ(answers.error().code, Errc::cluster_unavailable);
  bool is_told = false;
  EXPECT_EQ(traced->watch_list(executor, [&] { is_told = true; }), nullptr);
  EXPECT_TRUE(is_told);
  EXPECT_EQ((co_await traced->get_recent("box")).value().name, "box");
  EXPECT_EQ((co_await traced->pools()->heal()).value().missing, 3u);
}

}  // namespace
}  // namespace skiff::container
