#include "runtime/auth/token_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skiff::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string token_file_refusal(std::string_view text) {
  const auto entries = parse_token_file(text);
  return entries ? "" : entries.error().message;
}

TEST(TokenFile, HasOneTokenALineWithScopesAndASession) {
  const auto entries = parse_token_file(
      "# tokens of this sandbox\n"
      "\n"
      "alpha\n"
      "  beta\tread \r\n"
      "gamma read,exec build-1\n"
      "   # indented remark with many words in it\n"
      "delta admin");
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 4U);
  EXPECT_EQ((*entries)[0].digest, digest_of("alpha"));
  EXPECT_EQ((*entries)[0].scopes, Scopes::all());
  EXPECT_FALSE((*entries)[0].session);
  EXPECT_EQ((*entries)[1].digest, digest_of("beta"));
  EXPECT_EQ((*entries)[1].scopes, Scopes{}.with(Scope::read));
  EXPECT_EQ((*entries)[2].scopes, Scopes{}.with(Scope::exec));
  EXPECT_EQ((*entries)[2].session, "build-1");
  EXPECT_EQ((*entries)[3].digest, digest_of("delta"));
}

TEST(TokenFile, NamesTheInvalidLineWithoutItsText) {
  EXPECT_EQ(token_file_refusal("ok\nhush write"),
            "line 2: scopes are read, exec, ports and admin, separated by commas");
  EXPECT_EQ(token_file_refusal("hush read,"), "line 1: scopes are read, exec, ports and admin, separated by commas");
  EXPECT_EQ(token_file_refusal("hush ,read"), "line 1: scopes are read, exec, ports and admin, separated by commas");
  EXPECT_EQ(token_file_refusal("#\n\nhush read a/b"), "line 3: the session is not a valid id");
  EXPECT_EQ(token_file_refusal("hush read a b"), "line 1: expected: token [scopes, by commas] [session]");
  EXPECT_EQ(token_file_refusal("hush\xc3\xa9"), "line 1: a token has at most 8192 characters, all printable ASCII");
  EXPECT_EQ(token_file_refusal(std::string(8193, 'x')),
            "line 1: a token has at most 8192 characters, all printable ASCII");
  EXPECT_EQ(token_file_refusal("hush read\nother\nhush exec"), "line 3: the token is on a line above, too");
  for (const char* text : {"hush write", "hush read a/b", "hush read a b", "hush\x01", "hush\nhush"}) {
    EXPECT_THAT(token_file_refusal(text), Not(HasSubstr("hush"))) << text;
  }
}

TEST(TokenFile, MustContainAToken) {
  EXPECT_EQ(token_file_refusal(""), "it contains no token");
  EXPECT_EQ(token_file_refusal("# nothing\n\n  \n"), "it contains no token");
}

TEST(TokenFile, IsReadFromDiskAndNamedInErrors) {
  std::string directory = ::testing::TempDir() + "token-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const std::string path = directory + "/tokens";
  std::ofstream{path} << "alpha read\n";
  const auto entries = read_token_file(path);
  ASSERT_TRUE(entries) << entries.error().message;
  EXPECT_EQ(entries->at(0).digest, digest_of("alpha"));

  std::ofstream{path} << "alpha write\n";
  EXPECT_THAT(read_token_file(path).error().message, HasSubstr(path + "\": line 1"));
  std::ofstream{path} << std::string(1024 * 1024 + 1, '#');
  EXPECT_THAT(read_token_file(path).error().message, HasSubstr("larger than 1048576 bytes"));
  ::unlink(path.c_str());
  const auto absent = read_token_file(path);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Errc::path_not_found);
  EXPECT_FALSE(read_token_file(directory));
  ::rmdir(directory.c_str());
}

TEST(TokenDigest, IsTheSha256OfTheTextAndComesInHexOfBothCases) {
  // FIPS 180-2, appendix B.1.
  const std::string hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  EXPECT_EQ(to_hex(digest_of("abc")), hex);
  EXPECT_EQ(digest_from_hex(hex), digest_of("abc"));
  EXPECT_EQ(digest_from_hex("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"), digest_of("abc"));
  EXPECT_FALSE(digest_from_hex(""));
  EXPECT_FALSE(digest_from_hex(hex + "0"));
  EXPECT_FALSE(digest_from_hex(hex.substr(1)));
  EXPECT_FALSE(digest_from_hex("g" + hex.substr(1)));
  EXPECT_FALSE(digest_from_hex(" " + hex.substr(1)));
}

TEST(NewToken, Has256RandomBitsInAnAlphabetThatFitsEverywhere) {
  std::set<std::string> tokens;
  for (int i = 0; i < 1000; ++i) {
    const std::string token = new_token();
    EXPECT_THAT(token, ::testing::MatchesRegex("[A-Za-z0-9_-]+"));
    EXPECT_EQ(token.size(), 43U);
    EXPECT_TRUE(tokens.insert(token).second);
  }
}

TEST(TokenForm, AcceptsWhatFitsInAHeader) {
  EXPECT_TRUE(is_token_form("a"));
  EXPECT_TRUE(is_token_form("!~\"\\,;"));
  EXPECT_TRUE(is_token_form(std::string(8192, 'x')));
  for (const std::string_view text : {"", " ", "a b", "a\n", "a\x7f", "\xff"}) EXPECT_FALSE(is_token_form(text));
  EXPECT_FALSE(is_token_form(std::string(8193, 'x')));
}

}  // namespace
}  // namespace skiff::runtime
