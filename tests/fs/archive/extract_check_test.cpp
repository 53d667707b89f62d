#include "fs/archive/extract_check.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/scratch_tree.hpp"

namespace skiff::fs {
namespace {

using MemberKind = TarEntry::Kind;

/// The error for the last of these members; `internal` if all are accepted.
Errc refusal_of_members(const test::ScratchTree& tree, const std::vector<TarEntry>& entries,
                        const ExtractOptions& options = {}) {
  const UniqueFd directory = tree.open();
  ExtractCheck check{directory, options};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto checked = check.check(entries[i]);
    if (checked) continue;
    EXPECT_EQ(i, entries.size() - 1) << checked.error().message;
    return checked.error().code;
  }
  return Errc::internal;
}

constexpr Errc kFine = Errc::internal;

TEST(ExtractCheck, RefusesMembersOutsideTheDirectory) {
  const test::ScratchTree tree;
  EXPECT_EQ(refusal_of_members(tree, {{.path = "a"}, {.path = "/a"}}), Errc::path_escapes_root);
  EXPECT_EQ(refusal_of_members(tree, {{.path = "../a"}}), Errc::path_escapes_root);
  EXPECT_EQ(refusal_of_members(tree, {{.path = "a/../../b"}}), Errc::path_escapes_root);
  EXPECT_EQ(refusal_of_members(tree, {{.path = "a/.."}}), Errc::path_escapes_root);
  EXPECT_EQ(refusal_of_members(tree, {{.kind = MemberKind::hard_link, .path = "a", .target = "/etc/passwd"}}),
            Errc::path_escapes_root);
  EXPECT_EQ(refusal_of_members(tree, {{.kind = MemberKind::hard_link, .path = "a", .target = "../b"}}),
            Errc::path_escapes_root);
  EXPECT_EQ(refusal_of_members(tree, {{.path = std::string(256, 'n')}}), Errc::name_too_long);
  EXPECT_EQ(refusal_of_members(tree, {{.kind = MemberKind::other, .path = "device"}}), Errc::not_a_regular_file);
}

TEST(ExtractCheck, RefusesMembersBehindALinkOfTheArchive) {
  const test::ScratchTree tree;
  const TarEntry link{.kind = MemberKind::link, .path = "d/link", .target = "/etc"};
  EXPECT_EQ(refusal_of_members(tree, {link}), kFine) << "links are kept";
  EXPECT_EQ(refusal_of_members(tree, {link, {.path = "d/link/x"}}), Errc::path_escapes_root);
  EXPECT_EQ(refusal_of_members(tree, {link, {.path = "./d//link/deep/x"}}), Errc::path_escapes_root);
  EXPECT_EQ(refusal_of_members(tree, {link, {.kind = MemberKind::directory, .path = "d/link/"}}),
            Errc::path_escapes_root);
  EXPECT_EQ(refusal_of_members(tree, {link, {.path = "d/link"}, {.path = "d/links/x"}}), kFine)
      << "a later file takes its place";
  const TarEntry second{.kind = MemberKind::hard_link, .path = "h", .target = "d/link"};
  EXPECT_EQ(refusal_of_members(tree, {link, second}), kFine) << "a link may have two names";
  EXPECT_EQ(refusal_of_members(tree, {link, second, {.path = "h/x"}}), Errc::path_escapes_root);
  EXPECT_EQ(refusal_of_members(tree, {{.path = "d/x"}, {.kind = MemberKind::hard_link, .path = "h", .target = "d"}}),
            Errc::malformed_archive);
}

TEST(ExtractCheck, RefusesContradictoryMembers) {
  const test::ScratchTree tree;
  EXPECT_EQ(refusal_of_members(tree, {{.path = "a"}, {.path = "a/b"}}), Errc::malformed_archive);
  EXPECT_EQ(refusal_of_members(tree, {{.path = "a/b"}, {.path = "a"}}), Errc::malformed_archive);
  EXPECT_EQ(refusal_of_members(tree, {{.path = "a/b"}, {.kind = MemberKind::link, .path = "a", .target = "x"}}),
            Errc::malformed_archive);
  EXPECT_EQ(refusal_of_members(tree, {{.path = ""}}), Errc::malformed_archive);
  EXPECT_EQ(refusal_of_members(tree, {{.kind = MemberKind::directory, .path = "./"}, {.path = "./a"}}), kFine);
  EXPECT_EQ(refusal_of_members(tree, {{.path = "a"}, {.kind = MemberKind::hard_link, .path = "b", .target = "./a"}}),
            kFine);
  EXPECT_EQ(refusal_of_members(tree, {{.kind = MemberKind::hard_link, .path = "b", .target = "a"}}),
            Errc::malformed_archive);
  EXPECT_EQ(refusal_of_members(tree, {{.kind = MemberKind::hard_link, .path = "a", .target = "a"}}),
            Errc::malformed_archive);
  EXPECT_EQ(refusal_of_members(tree, {{.path = "a"}, {.kind = MemberKind::hard_link, .path = "a", .target = "a"}}),
            kFine);
}

TEST(ExtractCheck, RefusesMembersBehindALinkOnDisk) {
  const test::ScratchTree tree;
  tree.write("there/file");
  tree.link("there/inside", ".");
  tree.link("outside", "/tmp");
  EXPECT_EQ(refusal_of_members(tree, {{.path = "there/new"}, {.path = "there/file"}, {.path = "there/x/y/z"}}), kFine);
  EXPECT_EQ(refusal_of_members(tree, {{.path = "outside/x"}}), Errc::path_escapes_root);
  EXPECT_EQ(refusal_of_members(tree, {{.path = "outside/x/y/z"}}), Errc::path_escapes_root);
  EXPECT_EQ(refusal_of_members(tree, {{.path = "there/inside/x"}}), Errc::path_escapes_root);
  EXPECT_EQ(refusal_of_members(tree, {{.kind = MemberKind::directory, .path = "outside"}}), Errc::path_escapes_root);
  EXPECT_EQ(refusal_of_members(tree, {{.path = "outside"}}), kFine) << "a link is replaced, not followed";
  EXPECT_EQ(refusal_of_members(tree, {{.path = "there"}}), Errc::is_a_directory);
  EXPECT_EQ(refusal_of_members(tree, {{.kind = MemberKind::directory, .path = "there/file"}}), Errc::not_a_directory);
  EXPECT_EQ(refusal_of_members(tree, {{.path = "there/file/x/y"}}), Errc::not_a_directory);
}

TEST(ExtractCheck, CountsAgainstItsBounds) {
  const test::ScratchTree tree;
  const ExtractOptions options{.most_bytes = 100, .most_entries = 3};
  EXPECT_EQ(refusal_of_members(tree, {{.path = "a", .size = 60}, {.path = "b", .size = 40}}, options), kFine);
  EXPECT_EQ(refusal_of_members(tree, {{.path = "a", .size = 60}, {.path = "b", .size = 41}}, options),
            Errc::payload_too_large);
  EXPECT_EQ(refusal_of_members(tree, {{.path = "a", .size = ~std::uint64_t{0}}}, options), Errc::payload_too_large);
  EXPECT_EQ(refusal_of_members(tree, {{.path = "a"}, {.path = "b"}, {.path = "c"}, {.path = "d"}}, options),
            Errc::payload_too_large);
}

}  // namespace
}  // namespace skiff::fs
