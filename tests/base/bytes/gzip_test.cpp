#include "base/bytes/gzip.hpp"

#include <gtest/gtest.h>

#include "tests/base/gzip_bytes.hpp"

namespace skiff {
namespace {

using test::gzip_bytes;

Errc gzip_error(std::string_view packed, std::size_t limit = 1'000'000) {
  const auto text = unpack_gzip(packed, limit);
  return text ? Errc::internal : text.error().code;
}

TEST(Gzip, UnpacksTextsOfAnySize) {
  std::string text;
  for (const std::size_t size : {0UZ, 1UZ, 4096UZ, 100'000UZ, 900'000UZ}) {
    while (text.size() < size) text += std::to_string(text.size());
    text.resize(size);
    const auto unpacked = unpack_gzip(gzip_bytes(text), 1'000'000);
    ASSERT_TRUE(unpacked.has_value()) << unpacked.error().message;
    EXPECT_TRUE(*unpacked == text) << size;
  }
}

TEST(Gzip, RespectsItsLimit) {
  const std::string packed = gzip_bytes(std::string(500'000, 'a'));
  EXPECT_TRUE(unpack_gzip(packed, 500'000).has_value());
  EXPECT_EQ(gzip_error(packed, 499'999), Errc::payload_too_large);
  EXPECT_EQ(gzip_error(packed, 10), Errc::payload_too_large);
}

TEST(Gzip, RefusesTruncatedOrDamagedInput) {
  std::string packed = gzip_bytes(std::string(5'000, 'a') + "b");
  for (std::size_t size = 0; size < packed.size(); ++size) {
    EXPECT_EQ(gzip_error(std::string_view{packed}.substr(0, size)), Errc::invalid_request) << size;
  }
  packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 1);  // a byte of the checksum
  EXPECT_EQ(gzip_error(packed), Errc::invalid_request);
  EXPECT_EQ(gzip_error("{\"kind\":\"PodList\"}"), Errc::invalid_request);
}

}  // namespace
}  // namespace skiff
