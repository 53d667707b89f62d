#include "container/changes/apply.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/container/changes/layered.hpp"

namespace skiff::container::changes {
namespace {

class ApplyTest : public Layered {
 protected:
  [[nodiscard]] std::string text(const std::string& path) const { return test::get(under / path); }
};

TEST_F(ApplyTest, MakesTheDirectoryAsTheSandboxSeesIt) {
  write(under / "changed", "old");
  write(under / "deleted", "old");
  write(under / "gone/a/b", "x");
  write(under / "file", "x");
  write(under / "dir/x", "x");
  begin();
  write(layer / "changed", "new");
  write(layer / "new/deep/file", "x");
  whiteout("deleted");
  whiteout("gone");
  write(layer / "file/inner", "x");
  write(layer / "dir", "x");
  std::filesystem::create_symlink("changed", layer / "link");
  const Applied applied = do_apply();
  EXPECT_EQ(reasons(applied.left_out), Reasons{});
  EXPECT_EQ(lines(applied.done), (Lines{"M changed", "D deleted", "M dir", "M file/", "A file/inner", "D gone/",
                                        "A link", "A new/", "A new/deep/", "A new/deep/file"}));
  EXPECT_EQ(text("changed"), "new");
  EXPECT_EQ(text("new/deep/file"), "x");
  EXPECT_EQ(text("file/inner"), "x");
  EXPECT_EQ(text("dir"), "x");
  EXPECT_EQ(std::filesystem::read_symlink(under / "link"), "changed");
  EXPECT_EQ(test::names_in(under), (test::Names{"changed", "dir", "file", "link", "new"}));
  EXPECT_EQ(changes(), Lines{});
  EXPECT_EQ(lines(do_apply().done), Lines{});
}

TEST_F(ApplyTest, TakesPathsAlone) {
  begin();
  write(layer / "new/deep/file", "x");
  write(layer / "new/other", "x");
  EXPECT_EQ(lines(do_apply(Consent::refused, {"new/deep/file"}).done), Lines{"A new/deep/file"});
  EXPECT_EQ(text("new/deep/file"), "x");
  EXPECT_FALSE(std::filesystem::exists(under / "new/other"));
}

TEST_F(ApplyTest, DropsSetIdBitsAndKeepsPermissions) {
  begin();
  write(layer / "tool", "x");
  ::chmod((layer / "tool").c_str(), 06755);
  write(layer / "dir/x", "x");
  ::chmod((layer / "dir").c_str(), 02555);
  do_apply();
  EXPECT_EQ(mode_of(under / "tool") & 07777U, 0755U);
  EXPECT_EQ(mode_of(under / "dir") & 07777U, 0555U);
  EXPECT_EQ(text("dir/x"), "x");
  ::chmod((under / "dir").c_str(), 0755);
  ::chmod((layer / "dir").c_str(), 0755);
}

TEST_F(ApplyTest, LetsNobodyElseWriteWhoCouldNotBefore) {
  write(under / "closed", "old");
  write(under / "shared", "old");
  write(under / "shared-dir/x", "old");
  ::chmod((under / "closed").c_str(), 0644);
  ::chmod((under / "shared").c_str(), 0664);
  ::chmod((under / "shared-dir").c_str(), 01777);
  std::filesystem::create_symlink("closed", under / "link");
  begin();
  for (const char* name : {"closed", "shared", "new", "link"}) {
    write(layer / name, "new");
    ::chmod((layer / name).c_str(), 0666);
  }
  for (const char* name : {"new-dir", "shared-dir"}) write(layer / name / "x", "new");
  ::chmod((layer / "new-dir").c_str(), 01777);
  ::chmod((layer / "shared-dir").c_str(), 01773);
  EXPECT_EQ(reasons(do_apply().left_out), Reasons{});
  EXPECT_EQ(mode_of(under / "closed") & 07777U, 0644U);
  EXPECT_EQ(mode_of(under / "shared") & 07777U, 0664U);
  EXPECT_EQ(mode_of(under / "new") & 07777U, 0644U);
  EXPECT_EQ(mode_of(under / "link"), S_IFREG | 0644U);
  EXPECT_EQ(mode_of(under / "new-dir") & 07777U, 0755U);
  EXPECT_EQ(mode_of(under / "shared-dir") & 07777U, 01773U);
  // The rest of the difference is not a change.
  EXPECT_EQ(changes(), Lines{});
}

TEST_F(ApplyTest, LeavesSpecialFilesOutAndNamesThem) {
  begin();
  ASSERT_EQ(::mkfifo((layer / "fifo").c_str(), 0600), 0);
  const int bound = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  (layer / "socket").string().copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(bound, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(bound);
  write(layer / "file", "x");
  const Applied applied = do_apply(Consent::given);
  EXPECT_EQ(reasons(applied.left_out), (Reasons{{"fifo", "special"}, {"socket", "special"}}));
  EXPECT_EQ(test::names_in(under), test::Names{"file"});
}

TEST_F(ApplyTest, AFileThatHasChangedInBothIsAConflict) {
  for (const char* name : {"both", "both-deleted", "dir/old", "became-dir", "mine"}) write(under / name, "old");
  begin();
  write(under / "both", "mine");
  write(under / "both-deleted", "mine");
  write(under / "dir/mine", "mine");
  write(under / "new", "mine");
  write(under / "became-dir", "mine");
  write(under / "mine", "mine");
  write(layer / "both", "its");
  whiteout("both-deleted");
  whiteout("dir");
  write(layer / "new", "its");
  write(layer / "became-dir/x", "its");
  write(layer / "mine", "mine");
  const Applied applied = do_apply(Consent::given);
  EXPECT_EQ(lines(applied.done), Lines{});
  EXPECT_EQ(reasons(applied.left_out), (Reasons{{"both", "conflict"},
                                                {"both-deleted", "conflict"},
                                                {"dir", "conflict"},
                                                {"new", "conflict"},
                                                {"became-dir", "conflict"},
                                                {"became-dir/x", "failed"}}));
  for (const char* name : {"both", "both-deleted", "dir/mine", "new", "became-dir"}) EXPECT_EQ(text(name), "mine");
}

TEST_F(ApplyTest, ARepositoryOfWhichAPartHasChangedInBothStaysWhole) {
  for (const char* name : {".git/index", ".git/refs/heads/main", "sub/.git/index", "file"}) write(under / name, "old");
  begin();
  write(under / ".git/index", "mine");
  for (const char* name : {".git/index", ".git/refs/heads/main", ".git/objects/aa/bb", "sub/.git/index", "file"}) {
    write(layer / name, "its");
  }
  const Applied applied = do_apply(Consent::given);
  EXPECT_EQ(lines(applied.done), (Lines{"M file", "M sub/.git/index"}));
  EXPECT_EQ(text(".git/index"), "mine");
  EXPECT_EQ(text(".git/refs/heads/main"), "old");
  EXPECT_FALSE(std::filesystem::exists(under / ".git/objects/aa/bb"));
}

TEST_F(ApplyTest, AFileThatTookTheNameOfAnotherIsAConflict) {
  write(under / "a", "old");
  write(under / "b", "precious");
  begin();
  ASSERT_EQ(::rename((under / "b").c_str(), (under / "a").c_str()), 0);
  write(layer / "a", "its");
  EXPECT_EQ(reasons(do_apply().left_out), (Reasons{{"a", "conflict"}}));
  EXPECT_EQ(text("a"), "precious");
}

TEST_F(ApplyTest, ADirectoryThatWasMovedIntoADeletedOneStays) {
  write(under / "gone/x", "x");
  write(under / "precious/file", "precious");
  begin();
  ASSERT_EQ(::rename((under / "precious").c_str(), (under / "gone/precious").c_str()), 0);
  whiteout("gone");
  EXPECT_EQ(reasons(do_apply().left_out), (Reasons{{"gone", "conflict"}}));
  EXPECT_EQ(text("gone/precious/file"), "precious");
}

TEST_F(ApplyTest, WhatItHasAppliedIsNoConflict) {
  write(under / "dir/a", "old");
  write(under / "dir/b", "old");
  begin();
  write(layer / "dir/a", "one");
  write(layer / "dir/new", "one");
  std::filesystem::create_symlink("a", layer / "dir/link");
  EXPECT_EQ(lines(do_apply().done), (Lines{"M dir/a", "A dir/link", "A dir/new"}));
  write(layer / "dir/a", "two");
  std::filesystem::remove(layer / "dir/link");
  std::filesystem::create_symlink("b", layer / "dir/link");
  EXPECT_EQ(lines(do_apply().done), (Lines{"M dir/a", "M dir/link"}));
  EXPECT_EQ(text("dir/a"), "two");
  write(under / "dir/a", "mine");
  write(layer / "dir/a", "three");
  EXPECT_EQ(reasons(do_apply().left_out), (Reasons{{"dir/a", "conflict"}}));
  std::filesystem::remove_all(layer / "dir");
  whiteout("dir");
  EXPECT_EQ(reasons(do_apply().left_out), (Reasons{{"dir", "conflict"}}));
}

TEST_F(ApplyTest, ADirectoryThatOnlyApplyHasChangedMayGo) {
  write(under / "dir/a", "old");
  begin();
  write(layer / "dir/a", "one");
  write(layer / "dir/new/x", "one");
  do_apply();
  std::filesystem::remove_all(layer / "dir");
  whiteout("dir");
  EXPECT_EQ(lines(do_apply().done), Lines{"D dir/"});
  EXPECT_EQ(test::names_in(under), test::Names{});
}

TEST_F(ApplyTest, WhatRunsHereNeedsConsent) {
  begin();
  write(layer / ".git/hooks/pre-commit", "#!/bin/sh");
  write(layer / ".git/index", "x");
  write(layer / "Makefile", "all:");
  std::filesystem::create_symlink(outside, layer / "out");
  std::filesystem::create_symlink(".git/hooks", layer / "dist");
  const Applied applied = do_apply();
  EXPECT_EQ(reasons(applied.left_out), (Reasons{{".git/hooks", "consent"},
                                                {".git/hooks/pre-commit", "consent"},
                                                {"Makefile", "consent"},
                                                {"dist", "consent"},
                                                {"out", "consent"}}));
  EXPECT_EQ(test::names_in(under), test::Names{".git"});
  EXPECT_EQ(reasons(do_apply(Consent::given).left_out), Reasons{});
  EXPECT_EQ(std::filesystem::read_symlink(under / "out"), outside);
}

TEST_F(ApplyTest, HardLinksAndHolesAreCopied) {
  begin();
  write(layer / "one", "x");
  ASSERT_EQ(::link((layer / "one").c_str(), (layer / "two").c_str()), 0);
  ASSERT_EQ(::truncate((layer / "one").c_str(), std::int64_t{64} << 30), 0);
  EXPECT_EQ(do_apply().left_out.size(), 0U);
  struct stat status{};
  ASSERT_EQ(::stat((under / "two").c_str(), &status), 0);
  EXPECT_EQ(status.st_size, std::int64_t{64} << 30);
  EXPECT_LT(status.st_blocks, 1000);
}

TEST_F(ApplyTest, AHardLinkInTheDirectoryKeepsItsOtherName) {
  write(outside / "precious", "precious");
  ASSERT_EQ(::link((outside / "precious").c_str(), (under / "a").c_str()), 0);
  begin();
  write(layer / "a", "its");
  do_apply();
  EXPECT_EQ(text("a"), "its");
  EXPECT_EQ(test::get(outside / "precious"), "precious");
}

TEST_F(ApplyTest, ALinkIsNeverWrittenThrough) {
  std::filesystem::create_symlink(outside, under / "linked");
  std::filesystem::create_symlink(outside / "secret", under / "linked-file");
  begin();
  // The sandbox has removed the links and made a directory and a file of their names.
  write(layer / "linked/secret", "its");
  write(layer / "linked-file", "its");
  do_apply(Consent::given);
  EXPECT_EQ(test::get(outside / "secret"), "secret");
  EXPECT_FALSE(std::filesystem::is_symlink(under / "linked"));
  EXPECT_EQ(text("linked/secret"), "its");
  // Now the other way round, in two steps: a link is applied, and then something below its name.
  std::filesystem::remove_all(layer / "linked");
  std::filesystem::create_symlink(outside, layer / "linked");
  do_apply(Consent::given);
  EXPECT_TRUE(std::filesystem::is_symlink(under / "linked"));
  std::filesystem::remove(layer / "linked");
  write(layer / "linked/secret", "its");
  whiteout("linked/other");
  do_apply(Consent::given);
  EXPECT_EQ(test::get(outside / "secret"), "secret");
  EXPECT_EQ(text("linked/secret"), "its");
}

TEST_F(ApplyTest, ADirectoryThatBecomesALinkMeanwhileLeadsNowhere) {
  write(outside / "planted", "planted");
  write(under / "d/f", "old");
  write(layer / "d/f", "its");
  write(layer / "d/planted", "its");
  write(layer / "d/secret", "its");
  std::filesystem::create_symlink(outside, layer / "link");
  std::filesystem::create_symlink(outside, under / "under-link");
  begin();
  std::atomic<bool> is_over = false;
  // In both trees, a directory and a link to the outside exchange their names all the time.
  std::thread attacker{[&] {
    while (!is_over) {
      ::renameat2(AT_FDCWD, (layer / "d").c_str(), AT_FDCWD, (layer / "link").c_str(), RENAME_EXCHANGE);
      ::renameat2(AT_FDCWD, (under / "d").c_str(), AT_FDCWD, (under / "under-link").c_str(), RENAME_EXCHANGE);
    }
  }};
  for (int i = 0; i < 20; ++i) {
    Workspace all = workspace();
    auto found = compare(all, {});
    if (found) (void)apply(all, std::move(*found), Consent::given);
  }
  is_over = true;
  attacker.join();
  EXPECT_EQ(test::get(outside / "secret"), "secret");
  EXPECT_EQ(test::get(outside / "planted"), "planted");
  EXPECT_EQ(test::names_in(outside), (test::Names{"secret", "planted"}));
  // No file outside was read, either.
  for (const auto& entry : std::filesystem::recursive_directory_iterator{under}) {
    if (entry.is_symlink() || !entry.is_regular_file()) continue;
    EXPECT_NE(test::get(entry.path()), "secret") << entry.path();
    EXPECT_NE(test::get(entry.path()), "planted") << entry.path();
  }
}

TEST_F(ApplyTest, ALinkThatChangesAfterItWasJudgedIsNotMade) {
  begin();
  std::filesystem::create_symlink("inside", layer / "link");
  Workspace all = workspace();
  auto found = compare(all, {});
  ASSERT_TRUE(found);
  std::filesystem::remove(layer / "link");
  std::filesystem::create_symlink(outside, layer / "link");
  const auto applied = apply(all, std::move(*found), Consent::refused);
  ASSERT_TRUE(applied);
  EXPECT_EQ(reasons(applied->left_out), (Reasons{{"link", "failed"}}));
  EXPECT_FALSE(std::filesystem::is_symlink(under / "link"));
}

TEST_F(ApplyTest, AFileThatBecomesAFifoOrLinkMeanwhileIsNotMade) {
  begin();
  for (const char* name : {"fifo", "link", "gone"}) write(layer / name, "x");
  Workspace all = workspace();
  auto found = compare(all, {});
  ASSERT_TRUE(found);
  for (const char* name : {"fifo", "link", "gone"}) std::filesystem::remove(layer / name);
  ASSERT_EQ(::mkfifo((layer / "fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink(outside / "secret", layer / "link");
  const auto applied = apply(all, std::move(*found), Consent::given);
  ASSERT_TRUE(applied);
  EXPECT_EQ(reasons(applied->left_out), (Reasons{{"fifo", "failed"}, {"gone", "failed"}, {"link", "failed"}}));
  EXPECT_EQ(test::names_in(under), test::Names{});
}

TEST_F(ApplyTest, FilesOfRootGoToTheOwnerOfTheDirectory) {
  if (::geteuid() != 0) GTEST_SKIP() << "not run: only root applies for others";
  constexpr uid_t kOwner = 51'234;
  constexpr uid_t kBox = 2'010'000'001;
  ASSERT_EQ(::chown(under.c_str(), kOwner, kOwner), 0);
  begin();
  write(layer / "d/f", "x");
  std::filesystem::create_symlink("d", layer / "link");
  for (const char* name : {"d", "d/f", "link"}) ASSERT_EQ(::lchown((layer / name).c_str(), kBox, kBox), 0);
  EXPECT_EQ(do_apply().done.size(), 3U);
  for (const char* name : {"d", "d/f", "link"}) {
    struct stat status{};
    ASSERT_EQ(::lstat((under / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, kOwner) << name;
    EXPECT_EQ(status.st_gid, kOwner) << name;
  }
  struct stat record{};
  ASSERT_EQ(::stat((state / "applied.json").c_str(), &record), 0);
  EXPECT_EQ(record.st_uid, 0U);
}

TEST_F(ApplyTest, AStopIsAnError) {
  begin();
  write(layer / "a", "x");
  Workspace all = workspace();
  auto found = compare(all, {});
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(test::word(apply(all, std::move(*found), Consent::given, source.get_token())), "cancelled");
}

}  // namespace
}  // namespace skiff::container::changes
