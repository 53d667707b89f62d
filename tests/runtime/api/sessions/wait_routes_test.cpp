#include "runtime/api/sessions/wait_routes.hpp"

#include "tests/support/reactor_test.hpp"

namespace skiff::runtime::api {
namespace {

CO_TEST(WaitAnswer, ReportsTheOutcome) {
  Awaited awaited{executor};
  EXPECT_EQ(wait_answer().text({awaited, "timeout"}), R"({"met":false,"reason":"timeout"})");
  awaited.ended = true;
  EXPECT_EQ(wait_answer().text({awaited, "timeout"}), R"({"met":false,"reason":"ended"})");
  awaited.met = true;
  EXPECT_EQ(wait_answer().text({awaited, "timeout"}), R"({"met":true})");
  awaited.found = {.found = true, .next = 7, .text = "ready\xff"};
  EXPECT_EQ(wait_answer().text({awaited, "timeout"}), R"({"met":true,"match":"ready)"
                                                      "\xEF\xBF\xBD"
                                                      R"(","next":7})");
  co_return;
}

}  // namespace
}  // namespace skiff::runtime::api
