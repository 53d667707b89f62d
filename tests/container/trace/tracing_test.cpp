#include "container/trace/tracing.hpp"

#include <gtest/gtest.h>

#include "protocol/http/traceparent.hpp"

namespace skiff::container {
namespace {

const std::string kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kParent = "00f067aa0ba902b7";

std::shared_ptr<Tracer> tracer(TraceSampler sampler = {}, const std::string& parent = {}) {
  return std::make_shared<Tracer>(TraceSettings{.sampler = sampler, .parent = parent});
}

TEST(Tracing, DoesNothingWhereThereIsNoTrace) {
  Span span = TraceParent{}.begin("a");
  span.set("key", "value");
  span.event("event");
  span.fail({Errc::timeout, "late"});
  EXPECT_FALSE(span.here());
  EXPECT_EQ(span.here().traceparent(), "");
}

TEST(Tracing, MakesATree) {
  const auto all = tracer();
  {
    Span root = Tracer::root(all).begin("root");
    Span child = root.here().begin("child", SpanKind::client);
    child.event("half", {{"done", std::int64_t{50}}});
    child.fail({Errc::timeout, "late"});
    child.end();
    child.end();  // once is enough
  }
  ASSERT_EQ(all->ended().size(), 2U);
  const SpanRecord& child = all->ended()[0];
  const SpanRecord& root = all->ended()[1];
  EXPECT_EQ(root.parent_id, "");
  EXPECT_EQ(child.parent_id, root.span_id);
  EXPECT_EQ(child.trace_id, root.trace_id);
  EXPECT_NE(child.span_id, root.span_id);
  EXPECT_EQ(child.events.at(0).name, "half");
  EXPECT_TRUE(child.failed);
  EXPECT_EQ(child.message, "late");
  EXPECT_EQ(std::get<std::string>(child.attributes.at(0).second), "timeout");
  EXPECT_GE(root.took, child.took);
}

TEST(Tracing, GoesOnWithATraceThatWasBegunElsewhere) {
  const auto all = tracer({}, "00-" + kTrace + "-" + kParent + "-01");
  Span root = Tracer::root(all).begin("root");
  const std::string text = root.here().traceparent();
  EXPECT_EQ(protocol::valid_traceparent(text), text);
  EXPECT_EQ(text.substr(3, 32), kTrace);
  EXPECT_EQ(text.substr(53), "01");
  root.end();
  EXPECT_EQ(all->ended().at(0).parent_id, kParent);
}

TEST(Tracing, SamplesAsTheParentOrAsItIsTold) {
  const auto samples = [](TraceSampler::Root root, bool parent_based, const char* flags) {
    const std::string parent = *flags == 0 ? "" : "00-" + kTrace + "-" + kParent + "-" + flags;
    return tracer({.root = root, .parent_based = parent_based}, parent)->sampled();
  };
  using Root = TraceSampler::Root;
  EXPECT_TRUE(samples(Root::always_on, true, ""));
  EXPECT_FALSE(samples(Root::always_on, true, "00"));
  EXPECT_TRUE(samples(Root::always_off, true, "0b"));
  EXPECT_FALSE(samples(Root::always_off, true, "0a"));
  EXPECT_TRUE(samples(Root::always_on, false, "00"));
  EXPECT_FALSE(samples(Root::always_off, false, "01"));
  EXPECT_FALSE(samples(Root::always_off, true, ""));
}

TEST(Tracing, TellsOthersNotToRecordWhatItDoesNotRecord) {
  const auto all = tracer({.root = TraceSampler::Root::always_off});
  Span root = Tracer::root(all).begin("root");
  EXPECT_TRUE(root.here().traceparent().ends_with("-00"));
  root.end();
  EXPECT_TRUE(all->ended().empty());
  EXPECT_EQ(all->dropped(), 0U);
}

TEST(Tracing, ChoosesTracesByTheirIdsEnd) {
  EXPECT_TRUE(
      is_chosen("ffffffffffffffff"
                "0000000000000000",
                0.01));
  EXPECT_FALSE(is_chosen("00000000000000000000000000000000", 0));
  EXPECT_TRUE(
      is_chosen("0000000000000000"
                "7fffffffffffffff",
                0.5));
  EXPECT_FALSE(
      is_chosen("0000000000000000"
                "8000000000000000",
                0.5));
  EXPECT_TRUE(
      is_chosen("0000000000000000"
                "ffffffffffffffff",
                1));
}

TEST(Tracing, KeepsSoManySpansAndTheFirstOneToBegin) {
  const auto all = tracer();
  Span root = Tracer::root(all).begin("root");
  for (int i = 0; i < 3000; ++i) root.here().begin("child").end();
  root.end();
  EXPECT_EQ(all->ended().size(), 2048U);
  EXPECT_EQ(all->ended().back().name, "root");
  EXPECT_EQ(all->dropped(), 3001U - 2048U);
}

TEST(Tracing, KeepsSoManyEvents) {
  const auto all = tracer();
  Span root = Tracer::root(all).begin("root");
  for (int i = 0; i < 1000; ++i) root.event("again");
  root.end();
  EXPECT_EQ(all->ended().at(0).events.size(), 128U);
}

}  // namespace
}  // namespace skiff::container
