#include "runtime/mcp/outbox.hpp"

#include "tests/support/reactor_test.hpp"

namespace skiff::runtime::mcp {
namespace {

CO_TEST(McpOutbox, MessagesAreNumberedAndKept) {
  Outbox outbox{executor};
  outbox.push("a");
  outbox.push("b");
  EXPECT_EQ(outbox.after(0)->text, "a");
  EXPECT_EQ(outbox.after(1)->text, "b");
  EXPECT_EQ(outbox.after(2), nullptr);
  outbox.sent_up_to(2);
  EXPECT_EQ(outbox.after(0)->number, 1U);
  co_return;
}

CO_TEST(McpOutbox, AMessageThatWaitsIsNotAddedAgain) {
  Outbox outbox{executor};
  outbox.push("a");
  outbox.push("a");
  EXPECT_EQ(outbox.after(1), nullptr);
  outbox.sent_up_to(1);
  outbox.push("a");
  EXPECT_EQ(outbox.after(1)->number, 2U);
  co_return;
}

CO_TEST(McpOutbox, TheOldestMessagesAreDropped) {
  Outbox outbox{executor};
  for (std::size_t i = 0; i < Outbox::kMost + 10; ++i) outbox.push(std::to_string(i));
  EXPECT_EQ(outbox.after(0)->text, "10");
  outbox.finish("last");
  EXPECT_EQ(outbox.after(Outbox::kMost + 10)->text, "last");
  EXPECT_TRUE(outbox.closed() && outbox.answered());
  co_return;
}

CO_TEST(McpOutbox, NothingComesAfterItsEnd) {
  Outbox outbox{executor};
  outbox.close();
  outbox.push("a");
  outbox.finish("b");
  EXPECT_EQ(outbox.after(0), nullptr);
  EXPECT_FALSE(outbox.answered());
  co_return;
}

CO_TEST(McpOutbox, TheNewestReaderHasTheStream) {
  Outbox outbox{executor};
  const auto first = outbox.take_over();
  EXPECT_TRUE(outbox.is_read_by(first));
  const auto second = outbox.take_over();
  EXPECT_FALSE(outbox.is_read_by(first));
  EXPECT_TRUE(outbox.is_read_by(second));
  co_return;
}

}  // namespace
}  // namespace skiff::runtime::mcp
