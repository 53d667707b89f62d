#include "fs/content/write.hpp"

#include <fcntl.h>
#include <signal.h>  // NOLINT: POSIX's header, for the handling of SIGXFSZ
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "fs/content/read.hpp"
#include "tests/support/files_test.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/own_mounts.hpp"

namespace skiff::fs {
namespace {

using test::get;
using test::Names;
using test::names_in;
using test::put;
using test::word;

class WriteTest : public test::Files {
 public:
  Tree tree = open_tree();

  static WriteOptions if_match(const std::string& tags) {
    return {.conditions = {.if_match = TagList::parse(tags).value(), .must_be_new = false}};
  }
  static WriteOptions new_only() { return {.conditions = {.if_match = {}, .must_be_new = true}}; }
  unsigned mode_of(const char* name) const { return entry(name).mode; }
  Entry entry(const char* name) const { return look_at(tree, name)->entry; }
};

TEST_F(WriteTest, MakesAFileAndItsDirectories) {
  const auto made = write_file(tree, "a/b/f", "hello");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->created);
  EXPECT_EQ(made->entry.size, 5U);
  EXPECT_EQ(get(root / "a/b/f"), "hello");
  EXPECT_EQ(names_in(root / "a/b"), Names{"f"});
  EXPECT_EQ(word(write_file(tree, "x/f", "", {.parents = Parents::require})), "path_not_found");
}

TEST_F(WriteTest, AnswersATagThatHoldsUntilTheNextChange) {
  const Written first = write_file(tree, "f", "one").value();
  EXPECT_TRUE(first.tag.starts_with("\"m-")) << first.tag;
  const Seen seen = look_at(tree, "f").value();
  EXPECT_EQ(entity_tag(seen.object.get(), seen.entry), first.tag);
  const Written second = write_file(tree, "f", "two", if_match(first.tag)).value();
  EXPECT_FALSE(second.created);
  EXPECT_NE(second.tag, first.tag) << "of the same size, within the same tick";
  EXPECT_EQ(word(write_file(tree, "f", "three", if_match(first.tag))), "precondition_failed");
  EXPECT_EQ(get(root / "f"), "two");
}

TEST_F(WriteTest, JudgesAConditionByItsForm) {
  put(root / "f", "abc");
  const std::string by_content = "\"h-" + to_hex(Sha256::of("abc")) + '"';
  EXPECT_EQ(word(write_file(tree, "f", "x", if_match("\"h-" + to_hex(Sha256::of("abd")) + '"'))),
            "precondition_failed");
  EXPECT_EQ(word(write_file(tree, "f", "def", if_match(by_content))), "ok");
  EXPECT_EQ(word(write_file(tree, "f", "ghi", if_match(by_content))), "precondition_failed");
  EXPECT_EQ(word(write_file(tree, "f", "ghi", if_match("*"))), "ok");
  EXPECT_EQ(word(write_file(tree, "none", "x", if_match("*"))), "precondition_failed");
  EXPECT_EQ(word(write_file(tree, "f", "x", new_only())), "precondition_failed");
  EXPECT_EQ(word(write_file(tree, "new", "x", new_only())), "ok");
  EXPECT_EQ(get(root / "f"), "ghi");
  EXPECT_EQ(names_in(root), (Names{"f", "new"}));
}

TEST_F(WriteTest, CreatesNoDirectoriesForARefusedWrite) {
  EXPECT_EQ(word(write_file(tree, "a/b/f", "x", if_match("*"))), "precondition_failed");
  EXPECT_FALSE(std::filesystem::exists(root / "a"));
  EXPECT_EQ(word(write_file(tree, "a/b/f", "x", new_only())), "ok");
  EXPECT_EQ(word(write_file(tree, "a/b/f", "x", new_only())), "precondition_failed");
  EXPECT_TRUE(std::filesystem::exists(root / "a/b/f"));
}

TEST_F(WriteTest, ChecksConditionsBeforeAndAfterTheBytes) {
  put(root / "f", "old");
  EXPECT_EQ(word(Writer::begin(tree, "f", new_only())), "precondition_failed");
  Writer writer = Writer::begin(tree, "g", new_only()).value();
  ASSERT_TRUE(writer.write(std::string{"mine"}));
  put(root / "g", "someone else's");
  EXPECT_EQ(word(writer.commit()), "precondition_failed");
  EXPECT_EQ(get(root / "g"), "someone else's");
}

TEST_F(WriteTest, ChangesNothingWhenItIsStoppedWhileItHashes) {
  put(root / "f", "abc");
  const auto by_content = if_match("\"h-" + to_hex(Sha256::of("abc")) + '"');
  std::stop_source left;
  Writer writer = Writer::begin(tree, "f", by_content, left.get_token()).value();
  ASSERT_TRUE(writer.write(std::string{"new"}));
  left.request_stop();
  EXPECT_EQ(word(writer.commit(left.get_token())), "cancelled");
  EXPECT_EQ(word(Writer::begin(tree, "f", by_content, left.get_token())), "cancelled");
  EXPECT_EQ(get(root / "f"), "abc");
}

TEST_F(WriteTest, KeepsTheOldContentUntilItIsCommitted) {
  put(root / "f", "old");
  {
    Writer writer = Writer::begin(tree, "f").value();
    ASSERT_TRUE(writer.write(std::string(100'000, 'x')));
    EXPECT_EQ(get(root / "f"), "old");
  }
  EXPECT_EQ(get(root / "f"), "old");
  EXPECT_EQ(names_in(root), Names{"f"}) << "an abandoned one leaves nothing";
}

TEST_F(WriteTest, ShowsNothingOfItselfWhileTheBytesCome) {
  const Writer writer = Writer::begin(tree, "f").value();
  const UniqueFd probe{::open(root.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
  if (!probe) GTEST_SKIP() << "this file system has no nameless files";
  EXPECT_EQ(names_in(root), Names{}) << "so that not even SIGKILL leaves anything";
}

TEST_F(WriteTest, NeverShowsAReaderHalfAFile) {
  ASSERT_TRUE(write_file(tree, "f", std::string(50'000, 'a')));
  std::atomic<bool> stop = false;
  std::thread reader{[&] {
    while (!stop) {
      const std::string text = get(root / "f");
      if (text != std::string(50'000, 'a') && text != std::string(70'000, 'b')) {
        ADD_FAILURE() << "read " << text.size() << " bytes of a mixture";
        return;
      }
    }
  }};
  for (int i = 0; i < 300; ++i) {
    EXPECT_TRUE(write_file(tree, "f", i % 2 == 0 ? std::string(70'000, 'b') : std::string(50'000, 'a')));
  }
  stop = true;
  reader.join();
}

TEST_F(WriteTest, LosesNoUpdateOfTwentyWritersThatUseTags) {
  ASSERT_TRUE(write_file(tree, "counter", "0"));
  constexpr int kWriters = 20;
  constexpr int kRounds = 25;
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&] {
      for (int round = 0; round < kRounds;) {
        const OpenFile file = open_to_read(tree, "counter").value();
        const auto tag = entity_tag(file.fd.get(), file.entry);
        char text[16];
        const std::size_t size = read_at(file.fd.get(), 0, text).value();
        if (!tag) continue;
        const int next = std::stoi(std::string{text, size}) + 1;
        const auto written = write_file(tree, "counter", std::to_string(next), if_match(*tag));
        if (written) {
          ++round;
        } else {
          ASSERT_EQ(written.error().code, Errc::precondition_failed) << written.error().message;
        }
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(get(root / "counter"), std::to_string(kWriters * kRounds));
  EXPECT_EQ(names_in(root), Names{"counter"});
}

TEST_F(WriteTest, LetsExactlyOneOfManyCreateAFile) {
  std::atomic<int> created = 0;
  std::vector<std::thread> writers;
  for (int i = 0; i < 10; ++i) {
    writers.emplace_back([&, i] { created += write_file(tree, "f", std::to_string(i), new_only()) ? 1 : 0; });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(created, 1);
}

TEST_F(WriteTest, KeepsModeAndOwnerOfWhatItReplaces) {
  put(root / "f", "old");
  ASSERT_EQ(::chmod((root / "f").c_str(), 07751), 0);
  ASSERT_TRUE(write_file(tree, "f", "new"));
  EXPECT_EQ(mode_of("f"), 01751U) << "set-id bits were meant for what was in it";
  ASSERT_TRUE(write_file(tree, "f", "new", {.attributes = {.mode = 0600}}));
  EXPECT_EQ(mode_of("f"), 0600U);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(::chown((root / "f").c_str(), 1234, 5678), 0);
  ASSERT_TRUE(write_file(tree, "f", "newer"));
  EXPECT_EQ(entry("f").uid, 1234U);
  EXPECT_EQ(entry("f").gid, 5678U);
  EXPECT_EQ(mode_of("f"), 0600U);
}

TEST_F(WriteTest, SetsRequestedAttributes) {
  const FileTime time{std::chrono::nanoseconds{1'500'000'000'123'456'789}};
  ASSERT_TRUE(write_file(tree, "f", "x", {.attributes = {.mode = 02710, .modified = time}}));
  EXPECT_EQ(mode_of("f"), 02710U);
  EXPECT_EQ(entry("f").modified, time);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_TRUE(write_file(tree, "g", "x", {.attributes = {.mode = 04711, .uid = 12, .gid = 34}}));
  EXPECT_EQ(entry("g").uid, 12U);
  EXPECT_EQ(entry("g").gid, 34U);
  EXPECT_EQ(mode_of("g"), 04711U) << "chown takes set-id bits away, so it comes first";
}

TEST_F(WriteTest, HonoursTheUmaskForANewFile) {
  const mode_t mask = ::umask(077);
  EXPECT_TRUE(write_file(tree, "d/f", "x"));
  ::umask(mask);
  EXPECT_EQ(mode_of("d/f"), 0600U);
  EXPECT_EQ(mode_of("d"), 0700U);
}

TEST_F(WriteTest, VerifiesTheChecksum) {
  put(root / "f", "old");
  EXPECT_EQ(word(write_file(tree, "f", "new", {.sha256 = Sha256::of("other")})), "checksum_mismatch");
  EXPECT_EQ(get(root / "f"), "old");
  EXPECT_EQ(word(write_file(tree, "f", "new", {.sha256 = Sha256::of("new")})), "ok");
  // Bytes that are written to the descriptor directly count, too.
  Writer writer = Writer::begin(tree, "f", {.sha256 = Sha256::of("abcdef")}).value();
  ASSERT_TRUE(writer.write(std::string{"abc"}));
  ASSERT_EQ(::write(writer.fd(), "def", 3), 3);
  EXPECT_EQ(word(writer.commit()), "ok");
  EXPECT_EQ(get(root / "f"), "abcdef");
  EXPECT_EQ(parse_sha256(to_hex(Sha256::of("x"))).value(), Sha256::of("x"));
  for (const char* text : {"", "ab", "zz"}) EXPECT_EQ(word(parse_sha256(text)), "invalid_field");
  EXPECT_EQ(word(parse_sha256(std::string(63, 'a') + "g")), "invalid_field");
}

TEST_F(WriteTest, SyncsWhenAsked) {
  EXPECT_EQ(word(write_file(tree, "d/f", "x", {.durability = Durability::synced})), "ok");
  EXPECT_EQ(get(root / "d/f"), "x");
}

TEST_F(WriteTest, WritesThroughALinkInsideAndNeverOutside) {
  std::filesystem::create_directory(root / "d");
  put(root / "d/f", "old");
  std::filesystem::create_symlink("d/f", root / "link");
  std::filesystem::create_symlink("d/new", root / "dangling");
  std::filesystem::create_symlink("../outside/secret", root / "out");
  std::filesystem::create_symlink("../outside/new", root / "out-new");
  EXPECT_EQ(word(write_file(tree, "link", "new")), "ok");
  EXPECT_TRUE(std::filesystem::is_symlink(root / "link"));
  EXPECT_EQ(get(root / "d/f"), "new");
  EXPECT_EQ(word(write_file(tree, "dangling", "x")), "ok");
  EXPECT_EQ(get(root / "d/new"), "x");
  EXPECT_EQ(word(write_file(tree, "out", "x")), "path_escapes_root");
  EXPECT_EQ(word(write_file(tree, "out-new", "x")), "path_escapes_root");
  EXPECT_EQ(get(outside / "secret"), "secret");
  EXPECT_EQ(names_in(outside), Names{"secret"});
}

TEST_F(WriteTest, ReplacesRegularFilesOnly) {
  ASSERT_EQ(::mkfifo((root / "fifo").c_str(), 0666), 0);
  std::filesystem::create_directory(root / "d");
  EXPECT_EQ(word(write_file(tree, "fifo", "x")), "not_a_regular_file");
  EXPECT_EQ(word(write_file(tree, "d", "x")), "is_a_directory");
  EXPECT_EQ(word(write_file(tree, "new/", "x")), "is_a_directory");
  EXPECT_EQ(word(write_file(tree, (library / "book").string(), "x")), "permission_denied");
  EXPECT_EQ(word(write_file(tree, "fifo/x", "x")), "not_a_directory");
  EXPECT_EQ(names_in(root), (Names{"d", "fifo"}));
}

TEST_F(WriteTest, DoesNotFollowALinkThatAppearsWhileTheBytesCome) {
  Writer writer = Writer::begin(tree, "f").value();
  ASSERT_TRUE(writer.write(std::string{"x"}));
  std::filesystem::create_symlink(outside / "secret", root / "f");
  EXPECT_EQ(word(writer.commit()), "not_a_regular_file");
  EXPECT_EQ(get(outside / "secret"), "secret");
}

TEST_F(WriteTest, LeavesTheOldContentAndNothingElseWhenAFileMayNotGrow) {
  put(root / "f", "old");
  EXPECT_EQ(test::status_in_child([&] {
              ::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{.rlim_cur = 10'000, .rlim_max = 10'000};
              if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
              const auto result = write_file(tree, "f", std::string(100'000, 'x'));
              return !result && result.error().code == Errc::no_space ? 0 : 1;
            }),
            0);
  EXPECT_EQ(get(root / "f"), "old");
  EXPECT_EQ(names_in(root), Names{"f"});
}

TEST_F(WriteTest, LeavesTheOldContentAndNothingElseOnAFullDisk) {
  constexpr int kNoMounts = 77;
  const std::string disk = root.string();
  const int status = test::status_in_child([&] {
    if (!test::mount_tmpfs(disk, "size=1m")) return kNoMounts;
    const auto small = Tree::open({.path = disk});
    if (!small || !write_file(*small, "f", "old")) return 2;
    for (int i = 0; i < 3; ++i) {
      const auto result = write_file(*small, "f", std::string(4'000'000, 'x'));
      if (result || result.error().code != Errc::no_space) return 3;
    }
    if (names_in(disk) != Names{"f"} || get(disk + "/f") != "old") return 4;
    // The failed writes take no room.
    return write_file(*small, "g", std::string(900'000, 'x')) ? 0 : 5;
  });
  if (status == kNoMounts) GTEST_SKIP() << "nothing can be mounted here";
  EXPECT_EQ(status, 0);
}

TEST_F(WriteTest, WorksWithoutNamelessFiles) {
  const auto checks = [&] {
    put(root / "f", "old");
    {
      Writer writer = Writer::begin(tree, "f").value();
      EXPECT_TRUE(writer.write(std::string{"abandoned"}));
      EXPECT_EQ(names_in(root).size(), 2U) << "it has a temporary name";
    }
    EXPECT_EQ(names_in(root), Names{"f"});
    EXPECT_EQ(get(root / "f"), "old");
    EXPECT_EQ(word(write_file(tree, "f", "new")), "ok");
    EXPECT_EQ(word(write_file(tree, "g", "new", new_only())), "ok");
    EXPECT_EQ(word(write_file(tree, "g", "new", new_only())), "precondition_failed");
    EXPECT_EQ(get(root / "f"), "new");
    EXPECT_EQ(names_in(root), (Names{"f", "g"}));
  };
  constexpr auto kNameless = static_cast<std::uint32_t>(O_TMPFILE) & ~static_cast<std::uint32_t>(O_DIRECTORY);
  test::expect_without(checks, SYS_openat, EOPNOTSUPP, 2, kNameless);
}

TEST_F(WriteTest, LeavesNoDescriptorOpen) {
  const std::size_t before = test::open_descriptors();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(word(write_file(tree, "d/f", "x")), "ok");
    EXPECT_EQ(word(write_file(tree, "d", "x")), "is_a_directory");
    EXPECT_EQ(word(Writer::begin(tree, "d/g")), "ok");
  }
  EXPECT_EQ(test::open_descriptors(), before);
}

}  // namespace
}  // namespace skiff::fs
