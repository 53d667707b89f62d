#include "protocol/json/sse.hpp"

#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

std::string record(std::string_view id, std::string_view event, std::string_view data) {
  std::string out;
  append_sse(out, id, event, data);
  return out;
}

TEST(Sse, WritesARecordWithTheFieldsThatAreGiven) {
  EXPECT_EQ(record("42", "output", R"({"a":1})"), "id: 42\nevent: output\ndata: {\"a\":1}\n\n");
  EXPECT_EQ(record("", "", "x"), "data: x\n\n");
}

TEST(Sse, PutsEachLineOfTheDataOnItsOwnField) {
  EXPECT_EQ(record("", "", "a\nb\r\nc\rd\n"), "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n");
}

TEST(Sse, DoesNotLetAnIdOrEventForgeAField) {
  EXPECT_EQ(record("1\ndata: x", "e\r\nid: 9", ""), "id: 1\nevent: e\ndata: \n\n");
  EXPECT_EQ(record(std::string_view{"7\0", 2}, "\nx", "d"), "id: 7\ndata: d\n\n");
}

TEST(Sse, HasAHeadAndTailForDataThatIsNotCopied) {
  std::string out;
  append_sse_head(out, "3", "exit");
  EXPECT_EQ(out + "{}" + std::string{kSseTail}, record("3", "exit", "{}"));
}

}  // namespace
}  // namespace skiff::protocol
