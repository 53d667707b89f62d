#include "base/error.hpp"

#include <algorithm>
#include <cerrno>
#include <set>

#include <gtest/gtest.h>

namespace skiff {
namespace {

TEST(Error, HasAUniqueNameForEveryCode) {
  std::set<std::string_view> words;
  for (std::size_t i = 0; i < error_code_count(); ++i) {
    const std::string_view word = name(static_cast<Errc>(i));
    EXPECT_TRUE(std::ranges::all_of(word, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; })) << word;
    EXPECT_TRUE(words.insert(word).second) << word << " stands for two codes";
    EXPECT_EQ(find_code(word), static_cast<Errc>(i));
  }
  EXPECT_EQ(name(Errc::invalid_request), "invalid_request");
  EXPECT_EQ(name(Errc::internal), "internal");
  EXPECT_EQ(find_code("of_the_future"), std::nullopt);
  EXPECT_EQ(static_cast<std::size_t>(Errc::internal) + 1, error_code_count());
}

TEST(Error, NamesTheAttemptAndTheReason) {
  const Error error = system_error(ENOENT, "open \"a/b\"");
  EXPECT_EQ(error.code, Errc::path_not_found);
  EXPECT_EQ(error.message, "open \"a/b\": No such file or directory");
}

TEST(Error, MapsEachErrnoToTheCodeAClientCanActOn) {
  EXPECT_EQ(system_error(EACCES, "x").code, Errc::permission_denied);
  EXPECT_EQ(system_error(EROFS, "x").code, Errc::permission_denied);
  EXPECT_EQ(system_error(ENOSPC, "x").code, Errc::no_space);
  EXPECT_EQ(system_error(EDQUOT, "x").code, Errc::no_space);
  EXPECT_EQ(system_error(EMFILE, "x").code, Errc::resource_exhausted);
  EXPECT_EQ(system_error(EAGAIN, "x").code, Errc::resource_exhausted);
  EXPECT_EQ(system_error(EFBIG, "x").code, Errc::no_space);
  EXPECT_EQ(system_error(EEXIST, "x").code, Errc::already_exists);
  EXPECT_EQ(system_error(EADDRINUSE, "x").code, Errc::already_exists);
  EXPECT_EQ(system_error(ENOTEMPTY, "x").code, Errc::directory_not_empty);
  EXPECT_EQ(system_error(EISDIR, "x").code, Errc::is_a_directory);
  EXPECT_EQ(system_error(ENAMETOOLONG, "x").code, Errc::name_too_long);
  EXPECT_EQ(system_error(ELOOP, "x").code, Errc::too_many_links);
  EXPECT_EQ(system_error(ETIMEDOUT, "x").code, Errc::timeout);
  EXPECT_EQ(system_error(EIO, "x").code, Errc::io_error);
}

TEST(Error, HasTextAndNameAlsoForANumberTheSystemDoesNotKnow) {
  EXPECT_EQ(errno_name(ENOENT), "ENOENT");
  EXPECT_EQ(errno_name(99'999), "99999");
  EXPECT_EQ(errno_text(99'999), "error 99999");
}

TEST(Error, CarriesTheInvalidField) {
  const Result<int> result = fail(Errc::invalid_field, "expected a number", "/limits/pids");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().field, "/limits/pids");
}

}  // namespace
}  // namespace skiff
