#include "fs/archive/compression.hpp"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/tar_bytes.hpp"

namespace skiff::fs {
namespace {

std::string random_text(std::size_t size) {
  std::string text;
  unsigned seed = 1;
  while (text.size() < size) {
    seed = seed * 1664525U + 1013904223U;
    text += seed % 3 == 0 ? std::string(seed >> 26U, 'x') : std::to_string(seed);
  }
  text.resize(size);
  return text;
}

std::string compress(Compression kind, std::string_view text) {
  std::string out;
  Compressor compressor{kind, [&out](std::string_view bytes) {
                          out += bytes;
                          return true;
                        }};
  EXPECT_TRUE(compressor.write(text.substr(0, text.size() / 3)));
  EXPECT_TRUE(compressor.write(text.substr(text.size() / 3)));
  EXPECT_TRUE(compressor.finish());
  return out;
}

Result<std::string> decompress(std::string_view bytes, std::size_t in_step, std::size_t out_step) {
  Decompressor decompressor{test::source_of(bytes, in_step)};
  std::string out;
  std::vector<char> block(out_step);
  for (;;) {
    const auto got = decompressor.read(block);
    if (!got) return std::unexpected{got.error()};
    if (*got == 0) return out;
    out.append(block.data(), *got);
  }
}

TEST(Compression, JoinsSmallPiecesThatItDoesNotCompress) {
  std::string out;
  std::size_t blocks = 0;
  Compressor compressor{Compression::none, [&](std::string_view bytes) {
                          out += bytes;
                          ++blocks;
                          return true;
                        }};
  std::string text;
  for (int i = 0; i < 100'000; ++i) {
    const std::string piece = std::to_string(i);
    text += piece;
    ASSERT_TRUE(compressor.write(piece));
  }
  const std::string large = random_text(1'000'000);
  ASSERT_TRUE(compressor.write(large));
  ASSERT_TRUE(compressor.finish());
  EXPECT_TRUE(out == text + large);
  EXPECT_LT(blocks, 20U);
}

TEST(Compression, ReadsBackWhatItWroteInAnySteps) {
  for (const Compression kind : {Compression::none, Compression::gzip, Compression::zstd}) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{1'000'000}}) {
      const std::string text = random_text(size);
      const std::string packed = compress(kind, text);
      EXPECT_TRUE(decompress(packed, std::string::npos, 100'000) == text);
      if (size <= 5000) EXPECT_TRUE(decompress(packed, 1, 7) == text);
      EXPECT_TRUE(decompress(packed, 1000, 1 << 20) == text);
    }
  }
}

TEST(Compression, DetectsTheKindByTheFirstBytes) {
  for (const Compression kind : {Compression::none, Compression::gzip, Compression::zstd}) {
    const std::string packed = compress(kind, "some text");
    Decompressor decompressor{test::source_of(packed, 1)};
    std::array<char, 4> block{};
    EXPECT_TRUE(decompressor.read(block));
    EXPECT_EQ(decompressor.kind(), kind);
  }
}

TEST(Compression, ReadsStreamsInARowAsOne) {
  for (const Compression kind : {Compression::gzip, Compression::zstd}) {
    const std::string packed = compress(kind, "one ") + compress(kind, "") + compress(kind, "two");
    EXPECT_EQ(decompress(packed, std::string::npos, 100).value(), "one two");
    EXPECT_EQ(decompress(packed, 1, 1).value(), "one two");
  }
  EXPECT_EQ(decompress(compress(Compression::gzip, "x") + std::string(1000, '\0'), 100, 100).value(), "x");
}

TEST(Compression, RefusesTruncatedOrDamagedInput) {
  for (const Compression kind : {Compression::gzip, Compression::zstd}) {
    const std::string text = random_text(100'000), packed = compress(kind, text);
    for (const std::size_t cut : {packed.size() - 1, packed.size() - 5, packed.size() / 2, std::size_t{12}}) {
      const auto read = decompress(packed.substr(0, cut), std::string::npos, 10'000);
      ASSERT_FALSE(read) << cut;
      EXPECT_EQ(read.error().code, Errc::malformed_archive);
    }
    int refused = 0;
    for (std::size_t at = 0; at < packed.size(); at += packed.size() / 40) {
      std::string damaged = packed;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
      const auto read = decompress(damaged, std::string::npos, 10'000);
      refused += !read || *read != text ? 1 : 0;
    }
    EXPECT_GT(refused, 30) << "checksums tell damage";
  }
}

TEST(Compression, RefusesWindowsThatTakeMuchMemory) {
  // A zstd frame header that asks for a window of 2 GiB: descriptor without single segment, window descriptor.
  const std::string frame{"\x28\xB5\x2F\xFD\x00\xA8\x01\x00\x00", 9};
  const auto read = decompress(frame, std::string::npos, 100);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::payload_too_large);
}

TEST(Compression, StopsWhenTheSinkDoes) {
  for (const Compression kind : {Compression::none, Compression::gzip, Compression::zstd}) {
    Compressor compressor{kind, [](std::string_view) { return false; }};
    Result<> result = compressor.write(random_text(1'000'000));
    if (result) result = compressor.finish();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::cancelled);
  }
}

TEST(Compression, PassesOnErrorsOfTheSource) {
  Decompressor decompressor{[](std::span<char>) -> Result<std::size_t> { return fail(Errc::timeout, "late"); }};
  std::array<char, 10> block{};
  EXPECT_EQ(decompressor.read(block).error().code, Errc::timeout);
}

}  // namespace
}  // namespace skiff::fs
