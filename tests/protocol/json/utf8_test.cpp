#include "protocol/json/utf8.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// The size of the first character by the definition: decode it and check the number; 0 if it is invalid.
std::size_t character_at(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(bytes[i])}; };
  const std::uint32_t lead = at(0);
  const std::size_t size = lead < 0x80             ? 1
                           : (lead & 0xE0) == 0xC0 ? 2
                           : (lead & 0xF0) == 0xE0 ? 3
                           : (lead & 0xF8) == 0xF0 ? 4
                                                   : 0;
  if (size == 0 || size > bytes.size()) return 0;
  if (size == 1) return 1;
  std::uint32_t point = lead & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
    point = point << 6 | (at(i) & 0x3F);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < least[size] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return 0;
  return size;
}

std::size_t reference_prefix(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t size = character_at(bytes.substr(at));
    if (size == 0) break;
    at += size;
  }
  return at;
}

TEST(Utf8, JudgesEverySequenceOfTwoAndThreeBytesAsTheDefinitionDoes) {
  std::string bytes(3, ' ');
  for (unsigned a = 0; a < 256; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      bytes.resize(2);
      bytes[0] = static_cast<char>(a);
      bytes[1] = static_cast<char>(b);
      ASSERT_EQ(valid_prefix(bytes), reference_prefix(bytes)) << a << ' ' << b;
      bytes.resize(3);
      for (unsigned c = 0x70; c < 0xD0; ++c) {
        bytes[2] = static_cast<char>(c);
        ASSERT_EQ(valid_prefix(bytes), reference_prefix(bytes)) << a << ' ' << b << ' ' << c;
      }
    }
  }
}

TEST(Utf8, JudgesTheEdgesOfFourByteSequencesAtEveryPlaceOfABlock) {
  for (const unsigned lead : {0xF0U, 0xF1U, 0xF3U, 0xF4U, 0xF5U, 0xF8U, 0xFFU}) {
    for (const unsigned b : {0x7FU, 0x80U, 0x8FU, 0x90U, 0xBFU, 0xC0U}) {
      for (const unsigned c : {0x7FU, 0x80U, 0xBFU, 0xC0U}) {
        for (const unsigned d : {0x7FU, 0x80U, 0xBFU, 0xC0U}) {
          for (std::size_t before = 0; before < 70; ++before) {
            std::string bytes(before, 'x');
            for (const unsigned byte : {lead, b, c, d}) bytes += static_cast<char>(byte);
            bytes += std::string(70 - before, 'y');
            ASSERT_EQ(valid_prefix(bytes), reference_prefix(bytes)) << before;
            bytes.resize(before + 4);
            ASSERT_EQ(valid_prefix(bytes), reference_prefix(bytes)) << before;
          }
        }
      }
    }
  }
}

TEST(Utf8, AgreesWithTheDefinitionOnRandomTextThatIsDamagedAndCutAnywhere) {
  std::mt19937 random{7};
  const std::vector<std::string> pieces{"a",
                                        "bcdefghijklmnop",
                                        "\xC3\xA9",
                                        "\xE2\x82\xAC",
                                        "\xF0\x9F\x98\x80",
                                        "\xED\x9F\xBF",
                                        "\xEE\x80\x80",
                                        "\xF4\x8F\xBF\xBF"};
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes;
    const std::size_t count = random() % 60;
    for (std::size_t i = 0; i < count; ++i) bytes += pieces[random() % pieces.size()];
    ASSERT_EQ(valid_prefix(bytes), bytes.size());
    for (unsigned damage = random() % 3; damage > 0 && !bytes.empty(); --damage) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (!bytes.empty()) bytes.resize(random() % bytes.size() + 1);
    ASSERT_EQ(valid_prefix(bytes), reference_prefix(bytes)) << ::testing::PrintToString(bytes);
    const std::string repaired = to_valid_utf8(bytes);
    ASSERT_EQ(reference_prefix(repaired), repaired.size());
  }
}

TEST(Utf8, ReplacesEachMaximalSubpartByOneReplacementCharacter) {
  const std::string r{kReplacement};
  // The examples of Unicode 15, tables 3-8 to 3-11.
  EXPECT_EQ(to_valid_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(to_valid_utf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(to_valid_utf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"), r + r + r + r + r + "A" + r + r + "B");
  EXPECT_EQ(to_valid_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), r + r + r + r + "A");
  EXPECT_EQ(to_valid_utf8("a\xE2\x82"), "a" + r);
  EXPECT_EQ(to_valid_utf8(""), "");
}

TEST(Utf8, DistinguishesIncompleteFromInvalidText) {
  for (const std::string_view begun :
       {"\xC3", "\xE2", "\xE2\x82", "\xF0\x9F", "\xF0\x9F\x98", "\xE0\xA0", "\xED\x9F"}) {
    EXPECT_TRUE(is_incomplete_character(begun)) << ::testing::PrintToString(begun);
    EXPECT_EQ(incomplete_tail("abc" + std::string{begun}), begun.size());
  }
  for (const std::string_view broken :
       {"", "a", "\x80", "\xC0", "\xC1", "\xF5", "\xFF", "\xE0\x80", "\xED\xA0", "\xF0\x80", "\xF4\x90", "\xC3\xA9"}) {
    EXPECT_FALSE(is_incomplete_character(broken)) << ::testing::PrintToString(broken);
    EXPECT_EQ(incomplete_tail("abc" + std::string{broken}), 0U);
  }
}

TEST(Utf8Splitter, LosesNothingAndCutsNoCharacterWhereverTheChunksEnd) {
  const std::string text = "a\xC3\xA9z\xE2\x82\xAC\xF0\x9F\x98\x80 \xFF\xE2\x82 \xF0\x9F\x98\xC3\xA9\xED\xA0\x80q";
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      Utf8Splitter splitter;
      std::string joined, repaired;
      const std::string_view view{text};
      for (const std::string_view chunk :
           {view.substr(0, first), view.substr(first, second - first), view.substr(second)}) {
        const auto pieces = splitter.push(chunk);
        for (const std::string_view piece : {pieces.head, pieces.body}) {
          joined += piece;
          repaired += to_valid_utf8(piece);
        }
        ASSERT_LE(splitter.held(), 3U);
      }
      const std::string_view last = splitter.flush();
      joined += last;
      repaired += to_valid_utf8(last);
      ASSERT_EQ(joined, text);
      // Repairing the pieces gives the same as repairing the whole, so no valid character was cut.
      ASSERT_EQ(repaired, to_valid_utf8(text)) << first << ' ' << second;
      ASSERT_EQ(splitter.held(), 0U);
    }
  }
}

TEST(Utf8Splitter, HoldsACharacterThatComesByteByByteUntilItIsWhole) {
  Utf8Splitter splitter;
  for (const char* byte : {"\xF0", "\x9F", "\x98"}) {
    const auto pieces = splitter.push(byte);
    EXPECT_TRUE(pieces.head.empty() && pieces.body.empty());
  }
  EXPECT_EQ(splitter.held(), 3U);
  const auto pieces = splitter.push("\x80!");
  EXPECT_EQ(pieces.head, "\xF0\x9F\x98\x80");
  EXPECT_EQ(pieces.body, "!");
}

TEST(Utf8Splitter, GivesABegunCharacterUpWhenTheNextByteDoesNotContinueIt) {
  Utf8Splitter splitter;
  EXPECT_EQ(splitter.push("a\xE2\x82").body, "a");
  const auto pieces = splitter.push("b\xC3");
  EXPECT_EQ(pieces.head, "\xE2\x82");
  EXPECT_EQ(pieces.body, "b");
  EXPECT_EQ(splitter.flush(), "\xC3");
  EXPECT_EQ(splitter.flush(), "");
}

}  // namespace
}  // namespace skiff::protocol
