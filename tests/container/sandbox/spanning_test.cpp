#include "container/sandbox/spanning.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

Task<Result<int>> ended_with(Result<int> outcome) {
  co_return outcome;
}

CO_TEST(Spanning, FailsAsTheWorkDoes) {
  const auto tracer = std::make_shared<Tracer>(TraceSettings{});
  const TraceParent root = Tracer::root(tracer);
  EXPECT_EQ((co_await spanning(begin_span(root, "stop sandbox", "box"), ended_with(7))).value(), 7);
  auto failed = co_await spanning(begin_span(root, "stop sandbox", "box"), ended_with(fail(Errc::timeout, "late")));
  EXPECT_FALSE(failed);
  CO_ASSERT_TRUE(tracer->ended().size() == 2);
  EXPECT_FALSE(tracer->ended()[0].failed);
  EXPECT_EQ(std::get<std::string>(tracer->ended()[0].attributes.at(0).second), "box");
  EXPECT_EQ(tracer->ended()[1].message, "late");
}

CO_TEST(Spanning, TellsPhasesToBothAndEndsThoughItsProgressIsKept) {
  const auto tracer = std::make_shared<Tracer>(TraceSettings{});
  auto span = std::make_shared<Span>(begin_span(Tracer::root(tracer), "create sandbox", "box"));
  std::string told;
  const Progress kept = noting(span, [&told](Phase, std::string_view detail) { told += detail; });
  kept(Phase::pulling, "busybox");
  EXPECT_TRUE(co_await spanning(span, ended_with(1)));
  kept(Phase::starting, "late");
  EXPECT_EQ(told, "busyboxlate");
  CO_ASSERT_TRUE(tracer->ended().size() == 1);
  CO_ASSERT_TRUE(tracer->ended()[0].events.size() == 1);
  EXPECT_EQ(tracer->ended()[0].events[0].name, "pulling");
}

TEST(Spanning, IsNothingWhereNothingIsTraced) {
  EXPECT_FALSE(begin_span({}, "stop sandbox", "box"));
}

}  // namespace
}  // namespace skiff::container
