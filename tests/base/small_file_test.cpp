#include "base/small_file.hpp"

#include <gtest/gtest.h>

#include <array>
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

TEST(SmallFile, IsReadWholeWhateverRoomItTakes) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path() / "file";
  for (const auto size : std::to_array<std::size_t>({0, 1, 4095, 4096, 4097, 16'383, 16'384, 16'385, 100'000})) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>('a' + i % 23);
    std::ofstream{path, std::ios::trunc} << text;
    for (const std::size_t most : {size, size + 1, std::size_t{4} << 20U}) {
      EXPECT_EQ(read_small_file(path, most).value(), text) << size << " of " << most;
    }
    if (size > 0) EXPECT_FALSE(read_small_file(path, size - 1).has_value()) << size;
  }
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
