#include "container/changes/applied_files.hpp"

#include <string>

#include "tests/container/changes/layered.hpp"

namespace skiff::container::changes {
namespace {

class AppliedFilesTest : public Layered {
 protected:
  static struct stat with(std::uint64_t inode, std::int64_t seconds, std::int64_t nanoseconds = 0) {
    struct stat status{};
    status.st_ino = inode;
    status.st_ctim = {.tv_sec = seconds, .tv_nsec = nanoseconds};
    return status;
  }
  const std::string file = state / "applied.json";
};

TEST_F(AppliedFilesTest, WhatIsOlderHasNotChanged) {
  const auto applied = AppliedFiles::load(file, 100'000'000'000);
  ASSERT_TRUE(applied);
  EXPECT_FALSE(applied->is_changed(with(1, 100)));
  EXPECT_TRUE(applied->is_changed(with(1, 100, 1)));
}

TEST_F(AppliedFilesTest, RemembersWhatApplyHasWritten) {
  const struct stat large = with(0xFFFF'FFFF'FFFF'FFF0U, 4'102'444'800, 999'999'999);
  {
    auto applied = AppliedFiles::load(file, 0);
    ASSERT_TRUE(applied);
    applied->note(with(1, 200));
    applied->note(with(2, 200));
    applied->note(large);
    applied->forget(with(2, 200));
    ASSERT_TRUE(applied->save());
  }
  const auto applied = AppliedFiles::load(file, 0);
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_FALSE(applied->is_changed(with(1, 200)));
  EXPECT_FALSE(applied->is_changed(large));
  EXPECT_TRUE(applied->is_changed(with(1, 200, 1)));
  EXPECT_TRUE(applied->is_changed(with(2, 200)));
  EXPECT_EQ(mode_of(file) & 0777U, 0600U);
}

TEST_F(AppliedFilesTest, ADamagedRecordIsAnError) {
  test::put(file, "{");
  EXPECT_EQ(test::word(AppliedFiles::load(file, 0)), "malformed_json");
}

}  // namespace
}  // namespace skiff::container::changes
