#include "runtime/process/lacks.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.hpp"

namespace skiff::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Lacks, AreNamedWithTheirReason) {
  const test::TemporaryDirectory root;
  EXPECT_THAT(lacks(root.path()), ElementsAre(HasSubstr("/dev/null can't be used (No such file or directory)"),
                                              HasSubstr("/dev/ptmx"), HasSubstr("/proc/self/fd")));
  std::filesystem::create_directories(root / "proc/self/fd");
  std::filesystem::create_directories(root / "dev");
  root.write("dev/null", "");
  root.write("dev/ptmx", "");
  EXPECT_THAT(lacks(root.path()), IsEmpty());
}

TEST(Lacks, AreNoneHere) {
  EXPECT_THAT(lacks(), IsEmpty());
}

}  // namespace
}  // namespace skiff::runtime
