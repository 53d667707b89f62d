#include "base/sha.hpp"

#include <gtest/gtest.h>

namespace skiff {
namespace {

TEST(Sha256, GivesTheDigestsOfTheStandard) {
  EXPECT_EQ(to_hex(Sha256::of("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(Sha256::of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, IsTheSameInPiecesAndCanBeAskedForInBetween) {
  Sha256 hash;
  for (int i = 0; i < 1000; ++i) {
    hash.add("0123456789");
    if (i % 100 == 0) (void)hash.digest();
  }
  std::string whole;
  for (int i = 0; i < 1000; ++i) whole += "0123456789";
  EXPECT_EQ(hash.digest(), Sha256::of(whole));
}

TEST(Sha1, GivesTheDigestOfTheStandard) {
  const auto digest = sha1("abc");
  EXPECT_EQ(digest[0], 0xa9);
  EXPECT_EQ(digest[19], 0x9d);
}

}  // namespace
}  // namespace skiff
