#include "container/serve/traced_calls.hpp"

#include <memory>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/container/sandbox/refusing_driver.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

/// A fixture whose driver starts one kind of sandbox and finds none.
struct TracedFixture final : Tenants, KeyStore {
  class BringsUp final : public fakes::RefusingDriver {
   public:
    [[nodiscard]] std::string_view name() const noexcept override { return "local"; }
    Task<Result<Sandbox>> create(SandboxSpec spec, Progress progress) override {
      progress(Phase::starting, "agent");
      Sandbox made;
      made.name = spec.name;
      co_return made;
    }
    Task<Result<Sandbox>> get(std::string name) override { co_return std::unexpected{no_such_sandbox(name)}; }
  };
  Task<Result<Driver*>> driver(std::string) override { co_return &hosted; }
  [[nodiscard]] std::string place() const override { return "here"; }
  Task<Result<KeyRing>> read() override { co_return KeyRing{.token_secret = "secret", .keys = {}}; }
  Task<Result<>> change(std::function<Result<>(KeyRing&)>) override { co_return Result<>{}; }

  BringsUp hosted;
  KeyCache keys{this};
  Templates templates = Templates::create({.name = {}}, {}).value();
  Fleet fleet{this, &keys, &templates};
  std::shared_ptr<Tracer> tracer = std::make_shared<Tracer>(TraceSettings{});
  ApiKey key{.name = "k", .sha256 = {}, .tenant = "a", .scopes = {}, .created_at = {}, .expires_ms = {}};
};

CO_TEST(TracedCalls, TellOfACreationAndItsPhases) {
  TracedFixture all;
  int phases = 0;
  const Progress progress = [&phases](Phase, std::string_view) { ++phases; };
  auto made = co_await create_traced(&all.fleet, Tracer::root(all.tracer), all.key, {.name = "box"}, progress);
  CO_ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(phases, 1);
  CO_ASSERT_TRUE(all.tracer->ended().size() == 1);
  const SpanRecord& span = all.tracer->ended()[0];
  EXPECT_EQ(span.name, "create sandbox");
  EXPECT_FALSE(span.failed);
  EXPECT_EQ(span.events.at(0).name, "starting");
  // A creation without a trace works as well.
  EXPECT_TRUE(co_await create_traced(&all.fleet, {}, all.key, {.name = "box"}, progress));
  EXPECT_EQ(phases, 2);
}

CO_TEST(TracedCalls, TellWhyAStartHasFailed) {
  TracedFixture all;
  EXPECT_FALSE(co_await start_traced(&all.fleet, Tracer::root(all.tracer), all.key, "box", {}));
  EXPECT_FALSE(co_await start_traced(&all.fleet, {}, all.key, "box", {}));
  CO_ASSERT_TRUE(all.tracer->ended().size() == 1);
  EXPECT_EQ(all.tracer->ended()[0].name, "start sandbox");
  EXPECT_TRUE(all.tracer->ended()[0].failed);
}

}  // namespace
}  // namespace skiff::container::serve
