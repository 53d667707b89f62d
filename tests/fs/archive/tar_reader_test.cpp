#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fs/archive/tar.hpp"
#include "tests/support/tar_bytes.hpp"

namespace skiff::fs {
namespace {

using test::pax;
using test::tar_end;
using test::tar_member;
using MemberKind = TarEntry::Kind;

struct Member {
  TarEntry entry;
  std::string content;
};

Result<std::vector<Member>> read_all(const std::string& archive, std::size_t step = 1000) {
  TarReader reader{test::source_of(archive, step)};
  std::vector<Member> members;
  for (;;) {
    auto entry = reader.next();
    if (!entry) return std::unexpected{entry.error()};
    if (!*entry) return members;
    Member member{std::move(**entry), ""};
    std::array<char, 100> block{};
    for (;;) {
      const auto got = reader.read(block);
      if (!got) return std::unexpected{got.error()};
      if (*got == 0) break;
      member.content.append(block.data(), *got);
    }
    members.push_back(std::move(member));
  }
}

Errc refusal_of_archive(const std::string& archive) {
  const auto read = read_all(archive);
  return read ? Errc::internal : read.error().code;
}

TEST(TarReader, ReadsMembersOfEachKind) {
  const auto read = read_all(tar_member("a/file", '0', "content") + tar_member("old", '\0', "x", "", "") +
                             tar_member("folder/", '5') + tar_member("v7/", '0') + tar_member("link", '2', "", "to") +
                             tar_member("hard", '1', "", "a/file") + tar_member("fifo", '6') + tar_end());
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 7U);
  EXPECT_EQ((*read)[0].content, "content");
  EXPECT_EQ((*read)[0].entry.mode, 0644U);
  EXPECT_EQ((*read)[1].content, "x");
  EXPECT_EQ((*read)[2].entry.kind, MemberKind::directory);
  EXPECT_EQ((*read)[3].entry.kind, MemberKind::directory);
  EXPECT_EQ((*read)[4].entry.target, "to");
  EXPECT_EQ((*read)[5].entry.kind, MemberKind::hard_link);
  EXPECT_EQ((*read)[6].entry.kind, MemberKind::other);
}

TEST(TarReader, TakesLongNamesInThreeForms) {
  const std::string name = std::string(120, 'n') + "/" + std::string(120, 'm'), target(300, 't');
  auto read = read_all(tar_member("PaxHeaders/x", 'x', pax("path", name) + pax("linkpath", target)) +
                       tar_member("short", '2', "", "short") + tar_member("next") + tar_end());
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)[0].entry.path, name);
  EXPECT_EQ((*read)[0].entry.target, target);
  EXPECT_EQ((*read)[1].entry.path, "next");
  read = read_all(tar_member("././@LongLink", 'L', name + '\0', "", "ustar  ") +
                  tar_member("././@LongLink", 'K', target + '\0', "", "ustar  ") + tar_member("short", '2', "", "s") +
                  tar_end());
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)[0].entry.path, name);
  EXPECT_EQ((*read)[0].entry.target, target);
  std::string split = tar_member("name");
  split.replace(345, 6, "prefix");
  unsigned sum = 0;
  split.replace(148, 8, "        ");
  for (std::size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(split[i]);
  std::array<char, 8> digits{};
  std::snprintf(digits.data(), digits.size(), "%06o", sum);
  split.replace(148, 7, digits.data(), 7);
  EXPECT_EQ(read_all(split + tar_end()).value()[0].entry.path, "prefix/name");
}

TEST(TarReader, TakesTimesAndNumbersFromExtendedHeaders) {
  const auto read =
      read_all(tar_member("g", 'g', pax("comment", "made by hand")) +
               tar_member("x", 'x', pax("mtime", "12.5") + pax("uid", "3000000") + pax("SCHILY.xattr.user.x", "y")) +
               tar_member("a") + tar_member("x", 'x', pax("mtime", "-1.25")) + tar_member("b") + tar_end());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ((*read)[0].entry.seconds, 12);
  EXPECT_EQ((*read)[0].entry.nanoseconds, 500'000'000U);
  EXPECT_EQ((*read)[0].entry.uid, 3'000'000U);
  EXPECT_EQ((*read)[1].entry.seconds, -2);
  EXPECT_EQ((*read)[1].entry.nanoseconds, 750'000'000U);
}

TEST(TarReader, SkipsUnreadContent) {
  const std::string archive = tar_member("a", '0', std::string(100'000, 'x')) + tar_member("b") + tar_end();
  TarReader reader{test::source_of(archive, 333)};
  EXPECT_EQ((*reader.next())->path, "a");
  std::array<char, 10> block{};
  EXPECT_TRUE(reader.read(block));
  EXPECT_EQ((*reader.next())->path, "b");
  EXPECT_FALSE(*reader.next());
}

TEST(TarReader, RefusesDamagedOrTruncatedArchives) {
  EXPECT_EQ(refusal_of_archive(""), Errc::malformed_archive);
  EXPECT_EQ(refusal_of_archive("hello"), Errc::malformed_archive);
  EXPECT_EQ(refusal_of_archive(std::string(512, 'x')), Errc::malformed_archive);
  const std::string file = tar_member("a", '0', "content");
  EXPECT_EQ(refusal_of_archive(file), Errc::malformed_archive) << "no end mark";
  EXPECT_EQ(refusal_of_archive(file.substr(0, 600)), Errc::malformed_archive);
  EXPECT_EQ(refusal_of_archive(file.substr(0, 512)), Errc::malformed_archive);
  for (std::size_t i = 0; i < 512; ++i) {
    std::string damaged = file + tar_end();
    damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
    const bool unused_digit_of_the_sum = i >= 148 && i < 156;
    if (!unused_digit_of_the_sum) EXPECT_EQ(refusal_of_archive(damaged), Errc::malformed_archive) << i;
  }
}

TEST(TarReader, RefusesContradictoryOrUnknownMembers) {
  EXPECT_EQ(refusal_of_archive(tar_member("") + tar_end()), Errc::malformed_archive);
  EXPECT_EQ(refusal_of_archive(tar_member("link", '2') + tar_end()), Errc::malformed_archive);
  EXPECT_EQ(refusal_of_archive(tar_member("link", '2', "content", "to") + tar_end()), Errc::malformed_archive);
  EXPECT_EQ(refusal_of_archive(tar_member("hard", '1', "content", "to") + tar_end()), Errc::malformed_archive);
  EXPECT_EQ(refusal_of_archive(tar_member("x", 'x', pax("path", "a")) + tar_end()), Errc::malformed_archive);
  EXPECT_EQ(refusal_of_archive(tar_member("x", 'x', "5 a=") + tar_member("a") + tar_end()), Errc::malformed_archive);
  EXPECT_EQ(refusal_of_archive(tar_member("x", 'x', "99 a=b\n") + tar_member("a") + tar_end()),
            Errc::malformed_archive);
  EXPECT_EQ(refusal_of_archive(tar_member("x", 'x', "6 ab\n\n") + tar_member("a") + tar_end()),
            Errc::malformed_archive);
  EXPECT_EQ(refusal_of_archive(tar_member("x", 'x', pax("size", "-1")) + tar_member("a") + tar_end()),
            Errc::malformed_archive);
  EXPECT_EQ(refusal_of_archive(tar_member("x", 'x', pax("mtime", "1e9")) + tar_member("a") + tar_end()),
            Errc::malformed_archive);
  EXPECT_EQ(
      refusal_of_archive(tar_member("x", 'x', pax("path", std::string_view{"a\0b", 3})) + tar_member("a") + tar_end()),
      Errc::malformed_archive);
  EXPECT_EQ(refusal_of_archive(tar_member("g", 'g', pax("path", "a")) + tar_member("b") + tar_end()),
            Errc::malformed_archive);
  EXPECT_EQ(refusal_of_archive(tar_member("x", 'x', pax("path", std::string(5000, 'a'))) + tar_member("a") + tar_end()),
            Errc::name_too_long);
  EXPECT_EQ(refusal_of_archive(tar_member("x", 'x', pax("GNU.sparse.major", "1")) + tar_member("a") + tar_end()),
            Errc::malformed_archive)
      << "without its size";
  EXPECT_EQ(refusal_of_archive(tar_member("part", 'M') + tar_end()), Errc::not_supported);
  EXPECT_EQ(refusal_of_archive(tar_member("x", 'x', std::string((std::size_t{1} << 20U) + 1, 'x')) + tar_end()),
            Errc::malformed_archive);
}

}  // namespace
}  // namespace skiff::fs
