#include "container/agent/stream/event_stream.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

TEST(EventStream, EventsComeWholeHoweverTheyAreCut) {
  const std::string text =
      ": hello\n\nid: 1-0\ndata: \n\nid: 1-1\nevent: message\ndata: {\"a\":1}\n\ndata:x\r\ndata: y\r\n\r\n";
  for (std::size_t size = 1; size < text.size(); ++size) {
    EventStream stream;
    std::vector<std::string> events;
    for (std::size_t at = 0; at < text.size(); at += size) {
      ASSERT_TRUE(stream.push(std::string_view{text}.substr(at, size)));
      while (auto event = stream.next()) events.push_back(*event);
    }
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0], R"({"a":1})");
    EXPECT_EQ(events[1], "x\ny");
    EXPECT_EQ(stream.last_id(), "1-1");
  }
}

TEST(EventStream, AnEventWithoutAnEndIsGivenUp) {
  EventStream stream;
  const std::string block(std::size_t{32} << 20U, 'x');
  EXPECT_TRUE(stream.push(block));
  EXPECT_FALSE(stream.push(block + block));
}

}  // namespace
}  // namespace skiff::container
