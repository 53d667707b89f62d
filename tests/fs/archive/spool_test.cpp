#include "fs/archive/spool.hpp"

#include <sys/stat.h>

#include <string>

#include <gtest/gtest.h>

#include "tests/support/scratch_tree.hpp"

namespace skiff::fs {
namespace {

std::string read_all(SpoolReader& reader, std::size_t step) {
  std::string all;
  std::string block(step, '\0');
  for (;;) {
    const auto got = reader.read(block);
    EXPECT_TRUE(got) << got.error().message;
    if (!got || *got == 0) return all;
    all.append(block, 0, *got);
  }
}

TEST(Spool, GivesBackWhatItGotAnyNumberOfTimes) {
  const test::ScratchTree tree;
  auto spool = Spool::open(tree.open().get());
  ASSERT_TRUE(spool) << spool.error().message;
  std::string text;
  for (int i = 0; i < 200'000; ++i) {
    const std::string piece = std::to_string(i);
    ASSERT_TRUE(spool->append(piece));
    text += piece;
  }
  ASSERT_TRUE(spool->append_zeros(5'000'000));
  ASSERT_TRUE(spool->append("end"));
  ASSERT_TRUE(spool->finish());
  text += std::string(5'000'000, '\0') + "end";
  for (const std::size_t step : {511U, 100'000U, 1'000'000U}) {
    SpoolReader reader{*spool};
    EXPECT_TRUE(read_all(reader, step) == text) << step;
  }
  EXPECT_TRUE(std::filesystem::is_empty(tree.path())) << "the file has no name";
}

TEST(Spool, PassesOverBytes) {
  const test::ScratchTree tree;
  auto spool = Spool::open(tree.open().get());
  ASSERT_TRUE(spool);
  ASSERT_TRUE(spool->append("begin"));
  ASSERT_TRUE(spool->append_zeros(1'000'000));
  ASSERT_TRUE(spool->append("end"));
  ASSERT_TRUE(spool->finish());
  for (const std::size_t first : {0U, 1U, 5U}) {
    SpoolReader reader{*spool};
    std::string start(first, '\0');
    if (first > 0) EXPECT_EQ(reader.read(start).value(), first);
    reader.skip(1'000'005 - first);
    EXPECT_EQ(read_all(reader, 100), "end");
    reader.skip(1'000'000);
    EXPECT_EQ(read_all(reader, 100), "");
  }
}

}  // namespace
}  // namespace skiff::fs
