#include "fs/archive/tar_header.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/tar_bytes.hpp"

namespace skiff::fs {
namespace {

std::optional<std::int64_t> number(std::string_view text) {
  return tar_number(text, {0, text.size()});
}

TEST(TarHeader, ReadsNumbersInOctalAndBase256) {
  using namespace std::string_view_literals;
  EXPECT_EQ(number("0000644\0"sv), 0644);
  EXPECT_EQ(number("   644 \0"sv), 0644);
  EXPECT_EQ(number("77777777777\0"sv), 077777777777);
  EXPECT_EQ(number("777777777777"sv), 0777777777777);
  EXPECT_EQ(number("\0\0\0\0\0\0\0\0"sv), 0);
  EXPECT_EQ(number("0000648\0"sv), std::nullopt);
  EXPECT_EQ(number("-000644\0"sv), std::nullopt);
  EXPECT_EQ(number("12 34\0\0\0"sv), std::nullopt);
  EXPECT_EQ(number("\x80\0\0\0\0\0\0\0\0\0\x01\0"sv), 256);
  EXPECT_EQ(number("\x80\0\0\0\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF"sv), 0x7FFFFFFFFFFFFFFF);
  EXPECT_EQ(number("\x80\0\0\0\x80\0\0\0\0\0\0\0"sv), std::nullopt);
  EXPECT_EQ(number("\x80\0\0\x01\0\0\0\0\0\0\0\0"sv), std::nullopt);
  EXPECT_EQ(number("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFE"sv), -2);
  EXPECT_EQ(number("\x80\0\0\0\0\0\x01\0"sv), 256);
}

TEST(TarHeader, WritesNumbersThatFit) {
  std::string block(8, 'x');
  EXPECT_TRUE(put_tar_number(block, {0, 8}, 0644));
  EXPECT_EQ(block, std::string("0000644\0", 8));
  EXPECT_TRUE(put_tar_number(block, {0, 8}, 07777777));
  EXPECT_FALSE(put_tar_number(block, {0, 8}, 010000000));
}

TEST(TarHeader, SumsItsBytes) {
  const std::string member = test::tar_member("name");
  EXPECT_EQ(tar_number(member, tar_field::kSum), std::int64_t{tar_sum(member)});
  EXPECT_EQ(tar_text(member, tar_field::kName), "name");
  EXPECT_EQ(tar_padding(0), 0U);
  EXPECT_EQ(tar_padding(1), 511U);
  EXPECT_EQ(tar_padding(512), 0U);
}

}  // namespace
}  // namespace skiff::fs
