#include "sessions/registry.hpp"

#include "tests/support/supervised.hpp"

namespace skiff::sessions {
namespace {

using namespace std::chrono_literals;
using test::pass;
using test::Supervised;

CO_TEST(Registry, FindingASessionUsesIt, Supervised& here) {
  const auto session = co_await here.session("s");
  co_await pass(executor, 2ms);
  const SteadyTime before = std::chrono::steady_clock::now();
  (void)here.registry.sessions();
  EXPECT_LT(session->last_used(), before) << "a list uses none of them";
  EXPECT_TRUE(here.registry.find("s"));
  EXPECT_GE(session->last_used(), before);
}

}  // namespace
}  // namespace skiff::sessions
