#include "fs/path/tree.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <thread>

#include "fs/path/descriptor.hpp"
#include "tests/support/files_test.hpp"

namespace skiff::fs {
namespace {

namespace stdfs = std::filesystem;
using test::put;
using test::word;

class TreeTest : public test::Files {
 public:
  Tree tree = open_tree();

  /// The content of the file at `path`, or the name of the error.
  std::string read(std::string_view path) const { return read(tree, path); }
  static std::string read(const Tree& from, std::string_view path) {
    const auto file = from.open_file(path, O_RDONLY);
    if (!file) return "error: " + std::string{name(file.error().code)};
    std::array<char, 256> buffer;
    const ssize_t size = ::read(file->get(), buffer.data(), buffer.size());
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }
  std::string locate(std::string_view path, Links last = Links::follow, Parents parents = Parents::require) const {
    return word(tree.locate(path, last, parents));
  }
};

TEST_F(TreeTest, OpensWhatIsBelowTheRootsByRelativeAndAbsolutePath) {
  stdfs::create_directories(root / "a/b");
  put(root / "a/b/c", "hello");
  EXPECT_EQ(read("a/b/c"), "hello");
  EXPECT_EQ(read("./a//b/./c"), "hello");
  EXPECT_EQ(read((root / "a/b/c").string()), "hello");
  EXPECT_EQ(read("/" + (root / "a/b/c").string()), "hello");
  EXPECT_EQ(read((library / "book").string()), "words");
  EXPECT_EQ(tree.main_path(), root.string());
}

TEST_F(TreeTest, LivesUntilOneOfItsRootsIsRemoved) {
  EXPECT_TRUE(tree.lives());
  stdfs::rename(library, top / "moved");
  EXPECT_TRUE(tree.lives());
  stdfs::remove_all(top / "moved");
  EXPECT_FALSE(tree.lives());
}

TEST_F(TreeTest, FindsARemovedRootUnderItsNameAgainAndFollowsNoLink) {
  const auto reopened = [&] { return tree.reopened(); };
  stdfs::remove_all(library);
  EXPECT_EQ(word(reopened()), "path_not_found");
  stdfs::create_directory_symlink(root, library);
  EXPECT_EQ(word(reopened()), "path_escapes_root");
  stdfs::remove(library);
  stdfs::create_directory(library);
  put(library / "book", "new words");
  put(root / "f", "x");
  const Tree again = reopened().value();
  EXPECT_TRUE(again.lives());
  EXPECT_EQ(read(again, (library / "book").string()), "new words");
  EXPECT_EQ(read(again, "f"), "x") << "what lives stays";
}

TEST_F(TreeTest, ReopensNothingInADirectoryThatOthersMayWrite) {
  if (::geteuid() != 0) GTEST_SKIP() << "what is not root runs its commands as itself";
  stdfs::remove_all(library);
  stdfs::create_directory(library);
  stdfs::permissions(top, stdfs::perms::others_write, stdfs::perm_options::add);
  EXPECT_EQ(word(tree.reopened()), "path_not_found");
  stdfs::permissions(top, stdfs::perms::others_write, stdfs::perm_options::remove);
  EXPECT_TRUE(tree.reopened());
}

TEST_F(TreeTest, TakesARootThatIsOpenAlready) {
  put(root / "f", "x");
  const Tree taken = Tree::open({.path = "/nonexistent", .directory = tree.roots().front().fd.get()}).value();
  EXPECT_EQ(read(taken, "f"), "x");
  EXPECT_EQ(read(taken, (root / "f").string()), "x");
}

TEST_F(TreeTest, TakesTheRealPathOfARootReachedByALinkToo) {
  stdfs::create_directory_symlink(root, top / "alias");
  put(root / "f", "x");
  const Tree aliased = Tree::open({.path = top / "alias"}).value();
  EXPECT_EQ(aliased.main_path(), root.string());
  EXPECT_EQ(read(aliased, (top / "alias/f").string()), "x");
  EXPECT_EQ(read(aliased, (root / "f").string()), "x");
}

TEST_F(TreeTest, RefusesARootThatIsNotADirectory) {
  put(root / "f", "x");
  EXPECT_EQ(word(Tree::open({.path = (root / "f").string()})), "path_not_found");
  EXPECT_EQ(word(Tree::open({.path = (root / "none").string()})), "path_not_found");
  EXPECT_EQ(word(Tree::open({.path = "relative"})), "invalid_field");
}

TEST_F(TreeTest, AllowsToGoUpInsideTheRootAndNoFurther) {
  stdfs::create_directories(root / "a/b");
  put(root / "f", "x");
  EXPECT_EQ(read("a/../f"), "x");
  EXPECT_EQ(read("a/b/../../f"), "x");
  EXPECT_EQ(read(root.string() + "/a/../f"), "x");
  for (const char* path : {"..", "../", "../outside/secret", "a/../../outside/secret", "a/b/../../../outside/secret",
                           "a/../..", "./../outside/secret", "../root/f", "a/b/../../../../../../../../etc/passwd"}) {
    EXPECT_EQ(read(path), "error: path_escapes_root") << path;
    EXPECT_EQ(locate(path), "path_escapes_root") << path;
    EXPECT_EQ(word(tree.open_object(path, Links::keep)), "path_escapes_root") << path;
    EXPECT_EQ(word(tree.open_directory(path)), "path_escapes_root") << path;
  }
  EXPECT_EQ(read("none/../f"), "error: path_not_found") << "a directory that is missing leads nowhere";
}

TEST_F(TreeTest, RefusesAbsolutePathsElsewhere) {
  for (const std::string& path : {std::string{"/etc/passwd"}, std::string{"/"}, (outside / "secret").string(),
                                  root.string() + "/../outside/secret", root.string() + "more/f", top.string()}) {
    EXPECT_EQ(read(path), "error: path_escapes_root") << path;
    EXPECT_EQ(locate(path), "path_escapes_root") << path;
  }
}

TEST_F(TreeTest, FollowsLinksThatStayInside) {
  stdfs::create_directories(root / "a/b");
  put(root / "f", "x");
  stdfs::create_symlink("../f", root / "a/up");
  stdfs::create_symlink(root / "f", root / "absolute");
  stdfs::create_symlink(root / "a", root / "folder");
  stdfs::create_symlink(root / "absolute", root / "a/b/chain");
  stdfs::create_symlink(library / "book", root / "book");
  for (const char* path : {"a/up", "absolute", "folder/up", "folder/b/chain", "folder/b/../../f"}) {
    EXPECT_EQ(read(path), "x") << path;
  }
  EXPECT_EQ(read("book"), "words");
  EXPECT_EQ(word(tree.open_directory("folder")), "ok");
}

TEST_F(TreeTest, FollowsNoLinkIfToldNotTo) {
  stdfs::create_directories(root / "a/b");
  put(root / "a/b/c", "hello");
  stdfs::create_directory_symlink("a", root / "way");
  stdfs::create_symlink("a/b/c", root / "file");
  const auto plain = tree.without_links();
  ASSERT_TRUE(plain);
  EXPECT_EQ(read(*plain, "a/b/c"), "hello");
  EXPECT_EQ(read(*plain, (root / "a/b/c").string()), "hello");
  for (const char* path : {"way/b/c", "file", "way/../a/b/c", "way/"}) {
    EXPECT_EQ(word(plain->open_object(path, Links::follow)), "too_many_links") << path;
  }
  EXPECT_EQ(word(plain->locate("way/new", Links::keep, Parents::make)), "too_many_links");
  EXPECT_EQ(word(plain->locate("way/d/new", Links::keep, Parents::make)), "too_many_links");
  EXPECT_EQ(word(plain->locate("file", Links::follow)), "too_many_links");
  EXPECT_FALSE(stdfs::exists(root / "a/d"));
  // The link itself.
  EXPECT_TRUE(plain->open_object("file", Links::keep));
  EXPECT_TRUE(plain->locate("file", Links::keep));
  EXPECT_TRUE(plain->locate("a/d/new", Links::follow, Parents::make));
}

TEST_F(TreeTest, RefusesLinksThatLeadOut) {
  stdfs::create_directory(root / "a");
  stdfs::create_symlink("../outside/secret", root / "relative");
  stdfs::create_symlink("../../outside", root / "a/folder");
  stdfs::create_symlink(outside / "secret", root / "absolute");
  stdfs::create_symlink("/", root / "system");
  stdfs::create_symlink("relative", root / "chain");
  stdfs::create_symlink("../outside/new", root / "dangling");
  for (const char* path :
       {"relative", "a/folder/secret", "absolute", "system/etc/passwd", "chain", "dangling", "a/folder/../root"}) {
    EXPECT_EQ(read(path), "error: path_escapes_root") << path;
    EXPECT_EQ(locate(path), "path_escapes_root") << path;
  }
  EXPECT_EQ(locate("a/folder/new", Links::keep, Parents::make), "path_escapes_root");
  EXPECT_EQ(locate("a/folder/new/deep", Links::keep, Parents::make), "path_escapes_root");
  EXPECT_EQ(word(tree.open_object("relative", Links::keep)), "ok") << "the link itself is inside";
  EXPECT_EQ(locate("relative", Links::keep), "ok");
}

TEST_F(TreeTest, EndsAtLoopsAndLongChainsOfLinks) {
  stdfs::create_symlink("loop", root / "loop");
  stdfs::create_symlink(root / "b", root / "a");
  stdfs::create_symlink(root / "a", root / "b");
  stdfs::create_symlink("deeper/deeper", root / "deeper");
  put(root / "link0", "end");
  for (int i = 1; i <= 60; ++i) {
    stdfs::create_symlink("link" + std::to_string(i - 1), root / ("link" + std::to_string(i)));
  }
  for (const char* path : {"loop", "loop/x", "a", "b/c", "deeper", "link60"}) {
    EXPECT_EQ(read(path), "error: too_many_links") << path;
    EXPECT_EQ(locate(path), "too_many_links") << path;
  }
  EXPECT_EQ(read("link30"), "end");
}

TEST_F(TreeTest, EndsOnAPathThatGoesUpAndDownForEver) {
  stdfs::create_directories(root / "a/b/c/d/e/f/g/h");
  for (int i = 0; i < 8; ++i)
    stdfs::create_symlink(i == 0 ? "h/.." : "l" + std::to_string(i - 1) + "/../g/l" + std::to_string(i - 1),
                          root / "a/b/c/d/e/f/g" / ("l" + std::to_string(i)));
  EXPECT_EQ(read("a/b/c/d/e/f/g/l7"), "error: too_many_links");
}

TEST_F(TreeTest, RefusesMagicLinksAlsoWhereTheRootIsTheSystems) {
  const UniqueFd held{::open((outside / "secret").c_str(), O_RDONLY | O_CLOEXEC)};
  const Tree system = Tree::open({.path = "/"}).value();
  for (const std::string& path :
       {"/proc/self/fd/" + std::to_string(held.get()), std::string{"/proc/self/cwd/x"},
        std::string{"/proc/self/root/etc"}, std::string{"/proc/self/exe"}, std::string{"/proc/self/ns/mnt"}}) {
    EXPECT_EQ(read(system, path), "error: path_escapes_root") << path;
  }
  EXPECT_NE(read(system, "/proc/self/stat").find('('), std::string::npos) << "a plain link";
  EXPECT_EQ(read(system, (outside / "secret").string()), "secret");
  EXPECT_EQ(read(system, "../../" + (outside / "secret").string()), "secret") << "nothing is above it";
  stdfs::create_symlink(outside / "secret", root / "absolute");
  EXPECT_EQ(read(system, (root / "absolute").string()), "secret");
}

TEST_F(TreeTest, ReadsRegularFilesOnly) {
  ASSERT_EQ(::mkfifo((root / "fifo").c_str(), 0666), 0);
  const UniqueFd socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, (root / "socket").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  stdfs::create_directory(root / "folder");
  const Tree system = Tree::open({.path = "/"}).value();
  for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR}) {
    EXPECT_EQ(word(tree.open_file("fifo", flags)), "not_a_regular_file");
    EXPECT_EQ(word(tree.open_file("socket", flags)), "not_a_regular_file");
    EXPECT_EQ(word(system.open_file("/dev/null", flags)), "not_a_regular_file");
    EXPECT_EQ(word(tree.open_file("folder", flags)), "is_a_directory");
    EXPECT_EQ(word(tree.open_file(".", flags)), "is_a_directory");
  }
  EXPECT_EQ(word(tree.open_directory("fifo")), "not_a_directory");
  EXPECT_EQ(word(tree.open_object("fifo", Links::follow)), "ok");
}

TEST_F(TreeTest, DoesNotEvenOpenAFifo) {
  ASSERT_EQ(::mkfifo((root / "fifo").c_str(), 0666), 0);
  // Opening a FIFO would wake the process at its other end.
  const UniqueFd events{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
  ASSERT_GE(::inotify_add_watch(events.get(), (root / "fifo").c_str(), IN_OPEN), 0);
  for (const int flags : {O_RDONLY, O_WRONLY}) EXPECT_EQ(word(tree.open_file("fifo", flags)), "not_a_regular_file");
  std::array<char, 4096> buffer;
  EXPECT_EQ(::read(events.get(), buffer.data(), buffer.size()), -1) << "it was opened";
  const UniqueFd opened{::open((root / "fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  EXPECT_GT(::read(events.get(), buffer.data(), buffer.size()), 0) << "and that would have been seen";
}

TEST_F(TreeTest, DistinguishesAMissingEntryFromAFileInTheWay) {
  put(root / "f", "x");
  EXPECT_EQ(read("none"), "error: path_not_found");
  EXPECT_EQ(read("none/x"), "error: path_not_found");
  EXPECT_EQ(read("f/x"), "error: path_not_found");
  EXPECT_EQ(read("f/"), "error: not_a_directory");
  EXPECT_EQ(word(tree.open_directory("f")), "not_a_directory");
  EXPECT_EQ(locate("f/x"), "not_a_directory");
  EXPECT_EQ(locate("f/x/y", Links::keep, Parents::make), "not_a_directory");
  EXPECT_EQ(locate("none/x"), "path_not_found");
}

TEST_F(TreeTest, TakesNamesOf255BytesAndOfAnyBytes) {
  for (const std::string& name : {std::string(255, 'n'), std::string{"two\nlines"}, std::string{"\xff\xfe\x80"},
                                  std::string{" "}, std::string{"..."}, std::string{"\\..\\"}}) {
    put(root / name, name);
    EXPECT_EQ(read(name), name);
    EXPECT_EQ(locate(name), "ok");
  }
  EXPECT_EQ(read(std::string(256, 'n')), "error: name_too_long");
  EXPECT_EQ(locate(std::string(256, 'n')), "name_too_long");
  EXPECT_EQ(read(std::string_view{"a\0b", 3}), "error: invalid_field");
  EXPECT_EQ(locate(std::string_view{"a\0/../../b", 10}), "invalid_field");
}

TEST_F(TreeTest, LocatesExistingAndMissingEntries) {
  stdfs::create_directory(root / "a");
  const auto location = tree.locate("a/new", Links::follow);
  ASSERT_TRUE(location);
  EXPECT_EQ(location->name, "new");
  EXPECT_FALSE(location->directory);
  const UniqueFd directory{::open((root / "a").c_str(), O_PATH | O_CLOEXEC)};
  EXPECT_TRUE(same_object(status_of(location->parent.get()).value(), status_of(directory.get()).value()));
  EXPECT_TRUE(tree.locate("a/new/", Links::follow)->directory);
  for (const std::string& path : {std::string{}, std::string{"."}, std::string{"a/.."}, std::string{"a/../."},
                                  root.string(), root.string() + "/"}) {
    EXPECT_EQ(locate(path), "invalid_field") << path << " has no name";
  }
}

TEST_F(TreeTest, LocatesWhereALinkLeads) {
  stdfs::create_directories(root / "a/b");
  stdfs::create_symlink("b/target", root / "a/link");
  stdfs::create_symlink(root / "a/b/other", root / "absolute");
  EXPECT_EQ(tree.locate("a/link", Links::follow)->name, "target") << "also when nothing is there yet";
  EXPECT_EQ(tree.locate("a/link", Links::keep)->name, "link");
  EXPECT_EQ(tree.locate("absolute", Links::follow)->name, "other");
}

TEST_F(TreeTest, MakesMissingDirectoriesOnlyWhenAsked) {
  EXPECT_EQ(locate("x/y/z"), "path_not_found");
  EXPECT_FALSE(stdfs::exists(root / "x"));
  {
    const auto location = tree.locate("x/y/z", Links::follow, Parents::make);
    EXPECT_TRUE(location);
    EXPECT_TRUE(stdfs::is_directory(root / "x/y"));
    EXPECT_FALSE(stdfs::exists(root / "x/y/z"));
  }
  EXPECT_FALSE(stdfs::exists(root / "x")) << "nothing was put there";
  const mode_t mask = ::umask(027);
  const auto location = tree.locate("u/v", Links::follow, Parents::make);
  ::umask(mask);
  EXPECT_TRUE(location);
  EXPECT_EQ(stdfs::status(root / "u").permissions(), stdfs::perms{0750});
  EXPECT_EQ(locate("../up/z", Links::follow, Parents::make), "path_escapes_root");
  EXPECT_FALSE(stdfs::exists(top / "up"));
}

TEST_F(TreeTest, RefusesChangesBelowARootThatCanOnlyBeRead) {
  stdfs::create_symlink(library / "book", root / "book");
  stdfs::create_symlink(library, root / "shelf");
  const std::string book = library / "book";
  EXPECT_EQ(word(tree.locate(book, Links::follow)), "permission_denied");
  EXPECT_EQ(word(tree.locate((library / "new/x").string(), Links::follow, Parents::make)), "permission_denied");
  EXPECT_EQ(locate("book"), "permission_denied");
  EXPECT_EQ(locate("shelf/new"), "permission_denied");
  EXPECT_EQ(locate("shelf/new/deep", Links::follow, Parents::make), "permission_denied");
  EXPECT_EQ(locate("book", Links::keep), "ok") << "the link may be changed";
  EXPECT_EQ(word(tree.open_file(book, O_WRONLY)), "permission_denied");
  EXPECT_EQ(word(tree.open_object("book", Links::follow, Use::change)), "permission_denied");
  EXPECT_EQ(word(tree.open_object("book", Links::follow)), "ok");
  EXPECT_EQ(test::names_in(library), std::set<std::string>{"book"});
}

TEST_F(TreeTest, ProtectsAReadOnlyRootInsideAnotherByAnyPath) {
  stdfs::create_directories(root / "vendor/lib");
  stdfs::create_symlink("vendor", root / "link");
  put(root / "vendor/lib/f", "x");
  const Tree nested = Tree::open({.path = root}, {{.path = root / "vendor", .access = Access::read_only}}).value();
  for (const std::string& path :
       {std::string{"vendor/lib/f"}, std::string{"link/lib/f"}, std::string{"vendor/new"},
        (root / "vendor/lib/f").string(), std::string{"vendor/lib/../x"}, std::string{"vendor"}}) {
    EXPECT_EQ(word(nested.locate(path, Links::follow)), "permission_denied") << path;
  }
  EXPECT_EQ(read(nested, "link/lib/f"), "x");
  EXPECT_EQ(word(nested.locate("vendor/../new", Links::follow)), "ok");
  EXPECT_TRUE(nested.is_read_only_root(status_of(nested.open_directory("vendor")->get()).value()));
}

TEST_F(TreeTest, LetsAWritableRootLieInsideOneThatIsReadOnly) {
  put(root / "f", "x");
  const Tree sandbox = Tree::open({.path = root}, {{.path = "/", .access = Access::read_only}}).value();
  EXPECT_EQ(word(sandbox.locate("new", Links::follow)), "ok");
  EXPECT_EQ(word(sandbox.locate((root / "new").string(), Links::follow)), "ok");
  EXPECT_EQ(word(sandbox.locate((outside / "new").string(), Links::follow)), "permission_denied");
  EXPECT_EQ(read(sandbox, (outside / "secret").string()), "secret");
}

TEST_F(TreeTest, OpensNoDescriptorThatAChildWouldInherit) {
  stdfs::create_directory(root / "a");
  put(root / "a/f", "x");
  const auto check = [](const UniqueFd& fd) { EXPECT_NE(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, 0); };
  check(*tree.open_file("a/f", O_RDONLY));
  check(*tree.open_directory("a"));
  check(*tree.open_object("a", Links::keep));
  check(tree.locate("a/f", Links::keep)->parent);
}

TEST_F(TreeTest, LeavesNoDescriptorOpen) {
  stdfs::create_directories(root / "a/b");
  stdfs::create_symlink(root / "a", root / "link");
  put(root / "a/b/f", "x");
  const std::size_t before = test::open_descriptors();
  for (const char* path : {"link/b/f", "a/b/../b/f", "link/../x", "none/x", "../x"}) {
    (void)read(path);
    (void)locate(path, Links::follow, Parents::make);
  }
  EXPECT_EQ(test::open_descriptors(), before);
}

/// Swaps two names until it is destroyed.
class Swapper {
 public:
  Swapper(stdfs::path one, stdfs::path other)
      : one_{std::move(one)}, other_{std::move(other)}, thread_{[this] {
          while (!stop_) ::renameat2(AT_FDCWD, one_.c_str(), AT_FDCWD, other_.c_str(), RENAME_EXCHANGE);
        }} {}
  ~Swapper() {
    stop_ = true;
    thread_.join();
  }

 private:
  stdfs::path one_;
  stdfs::path other_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST_F(TreeTest, NeverLeavesTheRootWhileADirectoryIsSwappedForALink) {
  stdfs::create_directories(root / "a/b");
  put(root / "a/b/secret", "inside");
  put(root / "b", "unrelated");
  stdfs::create_directory_symlink(outside, root / "relative");
  stdfs::create_directory_symlink("../../outside", root / "a/link");
  const Swapper swapper{root / "a/b", root / "a/link"};
  int inside = 0;
  int refused = 0;
  for (int i = 0; i < 20'000 || ((inside == 0 || refused == 0) && i < 2'000'000); ++i) {
    const std::string found = read(i % 2 == 0 ? "a/b/secret" : "a/b/../b/secret");
    ASSERT_NE(found, "secret");
    (found == "inside" ? inside : refused) += 1;
    const auto location = tree.locate("a/b/new/x", Links::follow, Parents::make);
    if (location) {
      ASSERT_FALSE(stdfs::exists(outside / "new"));
    }
  }
  EXPECT_GT(inside, 0);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(test::names_in(outside), std::set<std::string>{"secret"});
}

TEST_F(TreeTest, NeverLeavesTheRootWhileADirectoryIsMovedUpAndDown) {
  stdfs::create_directories(root / "a/b/c");
  stdfs::create_directories(root / "x");
  put(root / "secret", "inside");
  // From "a/b/c" three steps up lead to the root; from "x/c", where the directory is at times, they would lead above
  // it.
  std::atomic<bool> stop = false;
  std::thread mover{[&] {
    while (!stop) {
      ::rename((root / "a/b/c").c_str(), (root / "c").c_str());
      ::rename((root / "c").c_str(), (root / "a/b/c").c_str());
    }
  }};
  int inside = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string found = read("a/b/c/../../../secret");
    EXPECT_TRUE(found == "inside" || found.starts_with("error:")) << found;
    inside += found == "inside" ? 1 : 0;
    const std::string above = read("a/b/c/../../../outside/secret");
    EXPECT_TRUE(above.starts_with("error:")) << above;
  }
  stop = true;
  mover.join();
  EXPECT_GT(inside, 0);
}

}  // namespace
}  // namespace skiff::fs
