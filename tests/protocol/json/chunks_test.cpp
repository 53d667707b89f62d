#include "protocol/json/chunks.hpp"

#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

TEST(JsonChunks, CutNoCharacter) {
  JsonChunks chunks;
  std::string text;
  for (const char byte : std::string_view{"a\xE2\x82\xAC\"\n"}) chunks.append(text, {&byte, 1});
  EXPECT_EQ(text, "a\xE2\x82\xAC\\\"\\n");
  EXPECT_EQ(chunks.held(), 0U);
}

TEST(JsonChunks, EndWithTheHalfThatIsLeft) {
  JsonChunks chunks;
  std::string text;
  chunks.append(text, "a\xE2\x82");
  EXPECT_EQ(text, "a");
  EXPECT_EQ(chunks.held(), 2U);
  chunks.finish(text);
  EXPECT_EQ(text, "a\xEF\xBF\xBD");
  EXPECT_EQ(chunks.held(), 0U);
}

TEST(JsonBytes, ReplaceWhatIsNotUtf8) {
  std::string text;
  append_json_bytes(text, "a\xFF\"");
  EXPECT_EQ(text, "a\xEF\xBF\xBD\\\"");
}

}  // namespace
}  // namespace skiff::protocol
