#include "container/launcher/bring_up.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/container/launcher/refusing_driver.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Has one sandbox, whose name is taken.
class OneSandbox final : public fakes::RefusingDriver {
 public:
  Task<Result<Sandbox>> create(SandboxSpec, Progress) override { co_return fail(Errc::sandbox_conflict, "taken"); }
  Task<Result<Sandbox>> start(std::string name, std::chrono::milliseconds, Progress) override {
    Sandbox found;
    found.name = std::move(name);
    found.image = "debian";
    found.labels = {{"team", "a"}, {"tier", "1"}};
    co_return found;
  }
};

Task<std::vector<std::string>> differences_of(SandboxSpec spec) {
  OneSandbox driver;
  spec.name = "box";
  BringUp wanted{.spec = std::move(spec), .get_or_create = true};
  auto up = co_await bring_up(&driver, std::move(wanted), [](Phase, std::string_view) {});
  EXPECT_TRUE(up && !up->is_new);
  co_return up ? up->differences : std::vector<std::string>{"it failed"};
}

CO_TEST(BringUp, IsContentWithWhatIsThereAndAsItWasWanted) {
  EXPECT_THAT(co_await differences_of({.name = {}}), IsEmpty());
  EXPECT_THAT(co_await differences_of({.name = {}, .image = "debian", .labels = {{"tier", "1"}}}), IsEmpty());
}

CO_TEST(BringUp, TellsInWhatTheOneThatIsThereIsAnother) {
  SandboxSpec wish{.name = {}, .image = "busybox", .labels = {{"team", "b"}, {"place", "x"}}};
  wish.lease.ttl = 1h;
  EXPECT_THAT(co_await differences_of(std::move(wish)),
              ElementsAre("its image is debian, not busybox", "it has no label place", "its label team is a, not b",
                          "its lease has no end: `skiff extend box` gives it one"));
}

}  // namespace
}  // namespace skiff::container
