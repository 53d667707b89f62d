#include "runtime/api/code/frames.hpp"

#include <gtest/gtest.h>

namespace skiff::runtime::api {
namespace {

TEST(CodeLines, AreCutWhereverTheirBytesCome) {
  CodeLines lines;
  lines.add("one");
  EXPECT_EQ(lines.next().value(), std::nullopt);
  lines.add("\n\ntwo\nthr");
  EXPECT_EQ(lines.next().value(), "one");
  EXPECT_EQ(lines.next().value(), "");
  EXPECT_EQ(lines.next().value(), "two");
  EXPECT_EQ(lines.next().value(), std::nullopt);
}

TEST(CodeLines, HaveAMostOfBytes) {
  CodeLines lines;
  lines.add(std::string(CodeLines::kMost, 'x'));
  EXPECT_EQ(lines.next().value(), std::nullopt);
  lines.add("x");
  EXPECT_EQ(lines.next().error().code, Errc::payload_too_large);
  CodeLines ended;
  ended.add(std::string(CodeLines::kMost + 1, 'x') + "\n");
  EXPECT_EQ(ended.next().error().code, Errc::payload_too_large);
}

TEST(CodeFrame, IsAResultAnErrorOrAnEnd) {
  const auto result = read_code_frame(R"({"id":1,"result":{"text":"1","json":{"a":[1]},"is_main_result":true}})");
  ASSERT_TRUE(result && result->result);
  EXPECT_EQ(result->result->text, "1");
  EXPECT_TRUE(result->result->is_main_result);
  const auto error = read_code_frame(R"({"id":2,"error":{"name":"E","value":"v","traceback":"t"}})");
  ASSERT_TRUE(error && error->error);
  EXPECT_EQ(error->error->name, "E");
  EXPECT_EQ(read_code_frame(R"({"id":3,"end":7})").value().end, 7U);
}

TEST(CodeFrame, HasAMostOfValues) {
  const auto of = [](std::size_t count) {
    std::string text = R"({"id":1,"result":{"json":{"a":[0)";
    for (std::size_t i = 1; i < count; ++i) text += ",0";
    return text + R"(]},"text":"[,,,\",,"}})";
  };
  EXPECT_TRUE(read_code_frame(of(kMostValues - 10)).has_value());
  EXPECT_EQ(read_code_frame(of(kMostValues + 10)).error().code, Errc::payload_too_large);
}

TEST(CodeFrame, IsRefusedWhereItIsAnythingElse) {
  for (const char* lie :
       {"", "[]", "1", "{}", R"({"id":"1"})", R"({"id":-1})", R"({"id":1,"end":-1})", R"({"id":1,"end":1.5})",
        R"({"id":1,"result":[]})", R"({"id":1,"result":{"text":1}})", R"({"id":1,"other":1})",
        R"({"id":1,"error":{"name":"E"}})", R"({"id":1,"id":2})", "{\"id\":1,\"result\":{\"text\":\"\xff\"}}"}) {
    EXPECT_FALSE(read_code_frame(lie)) << lie;
  }
}

}  // namespace
}  // namespace skiff::runtime::api
