#include "base/small_file.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_directory.hpp"

namespace skiff {
namespace {

TEST(SmallFile, IsReadWholeUpToItsLimit) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path() / "file";
  std::ofstream{path} << "four";
  EXPECT_EQ(read_small_file(path, 4).value(), "four");
  const auto larger = read_small_file(path, 3);
  ASSERT_FALSE(larger.has_value());
  EXPECT_EQ(larger.error().code, Errc::invalid_field);
}

TEST(SmallFile, IsReadWholeWhateverItsSize) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path() / "file";
  for (const std::size_t size : {0U, 8'191U, 8'192U, 8'193U, 32'768U, 1'000'000U}) {
    std::string text(size, 'x');
    if (size > 0) text.back() = 'y';
    std::ofstream{path} << text;
    for (const std::size_t most : {size, std::size_t{4} << 20U}) {
      const auto read = read_small_file(path, most);
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_TRUE(*read == text) << size;
    }
    if (size > 0) EXPECT_FALSE(read_small_file(path, size - 1).has_value()) << size;
  }
}

TEST(SmallFile, TakesMemoryForTheFileAndNotForItsLimit) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path() / "file";
  std::ofstream{path} << "four";
  EXPECT_LT(read_small_file(path, std::size_t{4} << 20U).value().capacity(), std::size_t{64} << 10U);
}

TEST(SmallFile, SaysWhichFileIsMissing) {
  const test::TemporaryDirectory directory;
  const auto missing = read_small_file(directory.path() / "none", 10);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, Errc::path_not_found);
  EXPECT_NE(missing.error().message.find("none"), std::string::npos);
  EXPECT_FALSE(read_small_file(directory.path(), 10).has_value()) << "a directory is not a file";
}

TEST(SmallFile, WipesAText) {
  std::string text = "a secret that is long enough for the heap";
  const std::string_view memory = text;
  wipe(text);
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(memory.find_first_not_of('\0'), std::string_view::npos);
}

}  // namespace
}  // namespace skiff
