#include "base/bytes/sha.hpp"

#include <gtest/gtest.h>

namespace skiff {
namespace {

TEST(Sha256, GivesTheDigestsOfTheStandard) {
  EXPECT_EQ(to_hex(Sha256::of("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(Sha256::of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, HashesInPiecesWithIntermediateDigests) {
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
  EXPECT_EQ(sha1("abc"), (std::array<unsigned char, 20>{0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x6a, 0xba, 0x3e,
                                                        0x25, 0x71, 0x78, 0x50, 0xc2, 0x6c, 0x9c, 0xd0, 0xd8, 0x9d}));
}

}  // namespace
}  // namespace skiff
