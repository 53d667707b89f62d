#include "runtime/last_word.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/small_file.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::runtime {
namespace {

constexpr std::size_t kMost = 10'000;

void put(const std::filesystem::path& file, std::string_view text) {
  std::ofstream{file} << text;
}

TEST(LastWord, ReplacesEarlierContent) {
  const test::TemporaryDirectory directory;
  const auto file = directory.path() / "log";
  put(file, std::string(1000, 'x'));
  write_last_word(file, EndCause::signal, "SIGTERM");
  EXPECT_EQ(read_small_file(file, kMost).value(), "{\"ended_by\":\"signal\",\"why\":\"SIGTERM\"}\n");
  write_last_word(file, EndCause::lease, "the lease is over");
  EXPECT_EQ(read_small_file(file, kMost).value(), "{\"ended_by\":\"lease\",\"why\":\"the lease is over\"}\n");
}

TEST(LastWord, CreatesNoFileAndFollowsNoLink) {
  const test::TemporaryDirectory directory;
  const auto absent = directory.path() / "absent";
  write_last_word(absent, EndCause::lease, "why");
  write_last_word({}, EndCause::lease, "why");
  write_last_word(directory.path(), EndCause::lease, "why");
  EXPECT_FALSE(std::filesystem::exists(absent));

  const auto others = directory.path() / "others";
  put(others, "precious");
  const auto link = directory.path() / "link";
  std::filesystem::create_symlink(others, link);
  write_last_word(link, EndCause::lease, "why");
  const auto second_name = directory.path() / "second";
  std::filesystem::create_hard_link(others, second_name);
  write_last_word(second_name, EndCause::lease, "why");
  EXPECT_EQ(read_small_file(others, kMost).value(), "precious");

  const auto pipe = directory.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  write_last_word(pipe, EndCause::lease, "nobody reads this");
}

}  // namespace
}  // namespace skiff::runtime
