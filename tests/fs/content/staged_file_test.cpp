#include "fs/content/staged_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "tests/support/files_test.hpp"
#include "tests/support/in_child.hpp"

namespace skiff::fs {
namespace {

using test::get;
using test::Names;
using test::names_in;
using test::put;
using test::word;

class StagedFileTest : public test::Files {
 public:
  UniqueFd directory{::open(root.c_str(), O_PATH | O_CLOEXEC)};

  StagedFile staged(std::string_view bytes) const {
    StagedFile file = StagedFile::make(directory.get(), 0666).value();
    EXPECT_EQ(::write(file.fd(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    return file;
  }
};

TEST_F(StagedFileTest, ShowsUnderItsNameWhenItIsPublished) {
  StagedFile file = staged("new");
  EXPECT_FALSE(std::filesystem::exists(root / "f"));
  EXPECT_TRUE(file.publish("f", Existing::refuse));
  EXPECT_EQ(get(root / "f"), "new");
  EXPECT_EQ(names_in(root), Names{"f"});
}

TEST_F(StagedFileTest, LeavesNothingBehindWhenItIsDropped) {
  {
    const StagedFile file = staged("new");
  }
  {
    StagedFile named = staged("new");
    EXPECT_TRUE(std::filesystem::exists(root / named.name_it().value()));
    const StagedFile moved = std::move(named);
  }
  EXPECT_EQ(names_in(root), Names{});
}

TEST_F(StagedFileTest, ReplacesOrRefusesExistingFilesAsRequested) {
  put(root / "f", "old");
  EXPECT_EQ(word(staged("new").publish("f", Existing::refuse)), "already_exists");
  EXPECT_EQ(get(root / "f"), "old");
  EXPECT_EQ(word(staged("new").publish("f", Existing::replace)), "ok");
  EXPECT_EQ(get(root / "f"), "new");
  EXPECT_EQ(word(staged("more").publish("g", Existing::replace)), "ok") << "also where nothing is";
  StagedFile named = staged("named");
  ASSERT_TRUE(named.name_it());
  EXPECT_EQ(word(named.publish("f", Existing::refuse)), "already_exists");
  EXPECT_EQ(word(named.publish("h", Existing::refuse)), "ok");
  EXPECT_EQ(names_in(root), (Names{"f", "g", "h"}));
}

TEST_F(StagedFileTest, ReplacesALinkAndNotWhatItLeadsTo) {
  std::filesystem::create_symlink(outside / "secret", root / "link");
  EXPECT_EQ(word(staged("new").publish("link", Existing::refuse)), "already_exists");
  EXPECT_EQ(word(staged("new").publish("link", Existing::replace)), "ok");
  EXPECT_EQ(get(outside / "secret"), "secret");
  EXPECT_FALSE(std::filesystem::is_symlink(root / "link"));
}

TEST_F(StagedFileTest, HonoursTheUmask) {
  const mode_t mask = ::umask(027);
  StagedFile file = staged("x");
  ::umask(mask);
  EXPECT_TRUE(file.publish("f", Existing::refuse));
  EXPECT_EQ(std::filesystem::status(root / "f").permissions(), std::filesystem::perms{0640});
}

TEST_F(StagedFileTest, FailsInADirectoryThatIsGone) {
  std::filesystem::create_directory(root / "gone");
  const UniqueFd gone{::open((root / "gone").c_str(), O_PATH | O_CLOEXEC)};
  StagedFile file = StagedFile::make(gone.get(), 0666).value();
  std::filesystem::remove(root / "gone");
  EXPECT_EQ(word(file.publish("f", Existing::refuse)), "path_not_found");
  EXPECT_FALSE(StagedFile::make(gone.get(), 0666));
}

TEST_F(StagedFileTest, RenamesOnlyToANewNameAlsoOnOlderKernels) {
  const auto checks = [&] {
    put(root / "a", "a");
    put(root / "b", "b");
    std::filesystem::create_directories(root / "d/inner");
    std::filesystem::create_directory(root / "e");
    std::filesystem::create_symlink("nowhere", root / "link");
    EXPECT_EQ(rename_new(directory.get(), "a", directory.get(), "b"), EEXIST);
    EXPECT_EQ(rename_new(directory.get(), "d", directory.get(), "e"), EEXIST);
    EXPECT_EQ(rename_new(directory.get(), "a", directory.get(), "c"), 0);
    EXPECT_EQ(rename_new(directory.get(), "d", directory.get(), "g"), 0);
    EXPECT_EQ(rename_new(directory.get(), "g", directory.get(), "g/inner/x"), EINVAL);
    EXPECT_EQ(rename_new(directory.get(), "link", directory.get(), "link2"), 0);
    EXPECT_EQ(rename_new(directory.get(), "none", directory.get(), "x"), ENOENT);
    EXPECT_EQ(names_in(root), (Names{"b", "c", "e", "g", "link2"}));
    EXPECT_EQ(names_in(root / "g/inner"), Names{});
  };
  test::expect_without(checks, SYS_renameat2, ENOSYS);
}

TEST_F(StagedFileTest, RenamesOnlyToANewName) {
  put(root / "a", "a");
  put(root / "b", "b");
  std::filesystem::create_directories(root / "d/inner");
  std::filesystem::create_directory(root / "e");
  EXPECT_EQ(rename_new(directory.get(), "a", directory.get(), "b"), EEXIST);
  EXPECT_EQ(rename_new(directory.get(), "d", directory.get(), "e"), EEXIST)
      << "not even an empty directory is replaced";
  EXPECT_EQ(rename_new(directory.get(), "a", directory.get(), "c"), 0);
  EXPECT_EQ(rename_new(directory.get(), "d", directory.get(), "g"), 0);
  EXPECT_EQ(rename_new(directory.get(), "none", directory.get(), "x"), ENOENT);
  EXPECT_EQ(names_in(root), (Names{"b", "c", "e", "g"}));
  EXPECT_TRUE(std::filesystem::exists(root / "g/inner"));
}

}  // namespace
}  // namespace skiff::fs
