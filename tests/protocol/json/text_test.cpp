#include "protocol/json/text.hpp"

#include <initializer_list>
#include <limits>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skiff::protocol {
namespace {

std::string as_json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(JsonText, EscapesWhatMustBeAndNothingElse) {
  EXPECT_EQ(as_json("a\"b\\c\b\f\n\r\t\x01\x1f/\x7f\xC3\xA9"), R"("a\"b\\c\b\f\n\r\t\u0001\u001f/)"
                                                               "\x7f\xC3\xA9\"");
  EXPECT_EQ(as_json(""), "\"\"");
  EXPECT_EQ(as_json(std::string_view{"\0", 1}), "\"\\u0000\"");
}

TEST(JsonText, EscapesWhatReadersOfLinesTakeForAnEnd) {
  EXPECT_EQ(as_json("\xC2\x85\xE2\x80\xA8\xE2\x80\xA9"), R"("\u0085\u2028\u2029")");
  const std::string others = "\xC2\x84\xC2\x86\xC3\x85\xE2\x80\xA7\xE2\x80\xAA\xE2\x81\xA8\xE3\x80\xA8";
  EXPECT_EQ(as_json(others), '"' + others + '"');
  // Wherever it is, also between two chunks.
  for (const std::size_t size : std::initializer_list<std::size_t>{3, 8, 16, 17, 100, 16'383, 16'390, 40'000}) {
    for (const std::string_view end : {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"}) {
      for (std::size_t place = size > 1000 ? size - 50 : 0; place + end.size() <= size; ++place) {
        std::string text(size, 'x');
        text.replace(place, end.size(), end);
        const std::string json = as_json(text);
        ASSERT_FALSE(json.contains(end)) << size << ' ' << place;
        ASSERT_EQ(nlohmann::json::parse(json).get<std::string>(), text) << size << ' ' << place;
      }
    }
  }
  std::string dense;
  for (int i = 0; i < 20'000; ++i) dense += i % 2 == 0 ? "\xE2\x80\xA8" : "\xE2\x80\x9C";
  EXPECT_EQ(nlohmann::json::parse(as_json(dense)).get<std::string>(), dense);
  EXPECT_FALSE(as_json(dense).contains("\xE2\x80\xA8"));
}

TEST(JsonText, IsReadBackAsTheSameTextWithEveryByteAtEveryPlaceOfABlock) {
  for (std::size_t place = 0; place < 40; ++place) {
    for (unsigned value = 0; value < 128; ++value) {
      std::string text(40, 'x');
      text[place] = static_cast<char>(value);
      ASSERT_EQ(nlohmann::json::parse(as_json(text)).get<std::string>(), text) << place << ' ' << value;
      ASSERT_EQ(as_json(text), nlohmann::json(text).dump()) << place << ' ' << value;
    }
  }
}

TEST(JsonText, IsReadBackAsTheSameTextWhateverTheDensityOfEscapes) {
  std::mt19937 random{11};
  for (const unsigned density : {0U, 1U, 5U, 30U, 128U, 256U}) {
    for (const std::size_t size : {std::size_t{15}, std::size_t{16}, std::size_t{17}, std::size_t{1000},
                                   std::size_t{16384}, std::size_t{16385}, std::size_t{100'000}}) {
      std::string text(size, '\0');
      for (char& c : text) {
        c = random() % 256 < density ? "\n\"\\\x01\t"[random() % 5] : static_cast<char>('a' + random() % 26);
      }
      std::string out = "before";
      append_json_string(out, text);
      ASSERT_EQ(out.substr(6), nlohmann::json(text).dump()) << density << ' ' << size;
    }
  }
}

TEST(JsonText, WritesShortTextsAndKeysAsLongOnes) {
  for (std::size_t size = 0; size <= 18; ++size) {
    for (std::size_t place = 0; place <= size; ++place) {
      std::string text(size, '~');
      if (place < size) text[place] = '"';
      std::string out = "{";
      append_json_key(out, text);
      append_json_string(out, text);
      append_json_key(out, text + '.');
      append_json_string(out, "");
      const nlohmann::json expected{{text, text}, {text + '.', ""}};
      ASSERT_EQ(nlohmann::json::parse(out + '}'), expected) << size << ' ' << place;
    }
  }
}

TEST(JsonText, IsPlainWhereAStringHoldsItByteByByte) {
  EXPECT_TRUE(is_plain_json(""));
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    for (std::size_t size = 1; size < 20; ++size) {
      for (std::size_t at = 0; at < size; ++at) {
        std::string text(size, 'x');
        text[at] = c;
        const bool plain = byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
        ASSERT_EQ(is_plain_json(text), plain) << byte << " at " << at << " of " << size;
      }
    }
  }
}

TEST(JsonText, PutsAStringTogetherFromPieces) {
  std::string out = "\"";
  append_json_escaped(out, "a\n");
  append_json_escaped(out, "");
  append_json_escaped(out, "\"b");
  EXPECT_EQ(out, R"("a\n\"b)");
}

TEST(JsonText, WritesKeysWithTheirCommasAndIntegers) {
  std::string out = "{";
  append_json_key(out, "a");
  append_json_integer(out, std::numeric_limits<std::int64_t>::min());
  append_json_key(out, "b\"");
  append_json_integer(out, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(out, R"({"a":-9223372036854775808,"b\"":18446744073709551615)");
}

TEST(JsonText, WritesMembersOfAnyTextNumbersAndFlags) {
  std::string out = "{";
  append_json_text(out, "a", "\"\xC3\xA9");
  append_json_text(out, "b", "x\xFFy");
  append_json_number(out, "c", std::numeric_limits<std::uint64_t>::max());
  append_json_flag(out, "d", true);
  append_json_flag(out, "e", false);
  EXPECT_EQ(out, "{\"a\":\"\\\"\xC3\xA9\",\"b\":\"x\xEF\xBF\xBDy\",\"c\":18446744073709551615,\"d\":true,\"e\":false");
}

}  // namespace
}  // namespace skiff::protocol
