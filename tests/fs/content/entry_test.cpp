#include "fs/content/entry.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <sstream>
#include <thread>

#include "fs/content/target.hpp"
#include "tests/support/files_test.hpp"

namespace skiff::fs {
namespace {

using test::put;
using test::word;

class EntryTest : public test::Files {
 public:
  UniqueFd open(const std::string& name, int flags = O_PATH | O_NOFOLLOW) const {
    return UniqueFd{::open((root / name).c_str(), flags | O_CLOEXEC)};
  }
  /// Sets both times, which sets the ctime to the clock's tick.
  void set_modified(const std::string& name, timespec time) const {
    const std::array times{time, time};
    ASSERT_EQ(::utimensat(AT_FDCWD, (root / name).c_str(), times.data(), 0), 0);
  }
};

/// Makes the entry look like a file that was written in the current tick.
Entry fresh(Entry entry) {
  entry.modified = entry.changed = entry.seen - std::chrono::milliseconds{1};
  return entry;
}

TEST_F(EntryTest, LooksAgainAtALinkThatHasBecomeAFile) {
  put(root / "name", "file");
  std::filesystem::create_symlink("name", root / "other");
  const UniqueFd directory = open(".", O_PATH);
  std::jthread swapping{[&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      ::renameat2(directory.get(), "name", directory.get(), "other", RENAME_EXCHANGE);
    }
  }};
  for (int i = 0; i < 20'000; ++i) {
    const auto seen = entry_at(directory.get(), "name");
    ASSERT_TRUE(seen) << seen.error().message;
  }
}

TEST_F(EntryTest, TellsWhatIsThere) {
  put(root / "file", "12345");
  ASSERT_EQ(::chmod((root / "file").c_str(), 04640), 0);
  std::filesystem::create_directory(root / "folder");
  std::filesystem::create_symlink("../anywhere\n", root / "link");
  ASSERT_EQ(::mkfifo((root / "fifo").c_str(), 0600), 0);
  const UniqueFd directory = open(".", O_PATH);

  const Entry file = entry_at(directory.get(), "file").value();
  EXPECT_EQ(file.type, EntryType::file);
  EXPECT_EQ(file.size, 5U);
  EXPECT_EQ(file.mode, 04640U);
  EXPECT_EQ(file.uid, ::geteuid());
  EXPECT_EQ(file.links, 1U);
  struct stat status{};
  ASSERT_EQ(::stat((root / "file").c_str(), &status), 0);
  EXPECT_EQ(file.inode, status.st_ino);
  EXPECT_EQ(file.device, status.st_dev);
  EXPECT_EQ(file.modified.time_since_epoch(),
            std::chrono::seconds{status.st_mtim.tv_sec} + std::chrono::nanoseconds{status.st_mtim.tv_nsec});

  EXPECT_EQ(entry_at(directory.get(), "folder")->type, EntryType::directory);
  EXPECT_EQ(entry_at(directory.get(), "fifo")->type, EntryType::fifo);
  EXPECT_EQ(entry_at(directory.get(), "link")->type, EntryType::link);
  EXPECT_EQ(entry_at(directory.get(), "link")->target, "../anywhere\n");
  EXPECT_EQ(entry_of(open("link").get())->target, "../anywhere\n");
  EXPECT_EQ(word(entry_at(directory.get(), "none")), "path_not_found");
  EXPECT_EQ(name(EntryType::directory), "directory");
}

TEST_F(EntryTest, SurvivesTimesOfAnyYear) {
  put(root / "f", "x");
  set_modified("f", {.tv_sec = 15'000'000'000, .tv_nsec = 1});
  EXPECT_GT(entry_of(open("f").get())->modified.time_since_epoch(), std::chrono::hours{24 * 365 * 200});
  set_modified("f", {.tv_sec = -2'000'000'000, .tv_nsec = 1});
  EXPECT_LT(entry_of(open("f").get())->modified.time_since_epoch().count(), 0);
}

TEST_F(EntryTest, HasATimeTagThatChangesWithSizeTimesAndInode) {
  put(root / "f", "x");
  const Entry entry = entry_of(open("f").get()).value();
  const std::string tag = time_tag(entry);
  EXPECT_TRUE(tag.starts_with("\"m-") && tag.ends_with('"')) << tag;
  Entry other = entry;
  other.size += 1;
  EXPECT_NE(time_tag(other), tag);
  other = entry;
  other.inode += 1;
  EXPECT_NE(time_tag(other), tag);
  other = entry;
  other.modified += std::chrono::nanoseconds{1};
  EXPECT_NE(time_tag(other), tag);
  other = entry;
  other.changed += std::chrono::nanoseconds{1};
  EXPECT_NE(time_tag(other), tag);
  EXPECT_EQ(time_tag(entry), tag);
}

TEST_F(EntryTest, HasHexadecimalNumbersInItsTimeTag) {
  Entry entry;
  const auto stamp = [](std::uint64_t count) {
    return FileTime{std::chrono::nanoseconds{static_cast<std::int64_t>(count)}};
  };
  EXPECT_EQ(time_tag(entry), R"("m-0-0-0-0")");
  entry.size = 0xfedcba9876543210;
  entry.modified = stamp(0xffffffffffffffff);
  entry.changed = stamp(1);
  entry.inode = 0x9abcdef0;
  EXPECT_EQ(time_tag(entry), R"("m-9abcdef0-fedcba9876543210-ffffffffffffffff-1")");
  for (std::uint64_t value = 1; value < 1ULL << 60U; value = value * 7 + 5) {
    entry.inode = value;
    std::ostringstream text;
    text << "\"m-" << std::hex << value << "-fedc";
    ASSERT_TRUE(time_tag(entry).starts_with(text.str())) << time_tag(entry);
  }
}

TEST_F(EntryTest, TrustsTimesOnlyWhenTheNextWriteMustChangeThem) {
  put(root / "f", "x");
  Entry entry = entry_of(open("f").get()).value();
  entry.modified = entry.changed = entry.seen - std::chrono::milliseconds{19};
  EXPECT_FALSE(time_tag_is_final(entry));
  entry.modified = entry.changed = entry.seen - std::chrono::milliseconds{20};
  EXPECT_TRUE(time_tag_is_final(entry));
  entry.modified = entry.changed = entry.seen + std::chrono::hours{1};
  EXPECT_FALSE(time_tag_is_final(entry)) << "the clock was set back";
  entry = fresh(entry);
  entry.modified -= std::chrono::nanoseconds{1};
  EXPECT_TRUE(time_tag_is_final(entry)) << "a write sets both to one time";
}

TEST_F(EntryTest, TagsAFreshFileByItsContent) {
  put(root / "f", "abc");
  const UniqueFd file = open("f");
  const auto tag = entity_tag(file.get(), fresh(entry_of(file.get()).value()));
  // The look after hashing decides: the file may be old enough by then.
  ASSERT_TRUE(tag);
  const std::string by_content = "\"h-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"";
  EXPECT_TRUE(*tag == by_content || *tag == time_tag(entry_of(file.get()).value())) << *tag;
  EXPECT_FALSE(entity_tag(file.get(), fresh(entry_of(file.get()).value()), 2)) << "too much to hash unasked";
}

TEST_F(EntryTest, HasATimeTagForDirectoriesAndLinks) {
  std::filesystem::create_symlink("x", root / "link");
  const UniqueFd link = open("link");
  EXPECT_TRUE(entity_tag(link.get(), entry_of(link.get()).value())->starts_with("\"m-"));
  const UniqueFd directory = open(".");
  EXPECT_TRUE(entity_tag(directory.get(), entry_of(directory.get()).value())->starts_with("\"m-"));
}

TEST_F(EntryTest, HasATimeTagAtOnceForWhatAWriterStamped) {
  for (int i = 0; i < 100; ++i) {
    put(root / "f", "abc");
    const UniqueFd file = open("f", O_RDWR);
    ASSERT_TRUE(stamp(file.get()));
    const Entry entry = entry_of(file.get()).value();
    ASSERT_TRUE(time_tag_is_final(entry));
    ASSERT_EQ(::pwrite(file.get(), "xyz", 3, 0), 3);
    ASSERT_NE(time_tag(entry_of(file.get()).value()), time_tag(entry)) << "a change in the same tick";
  }
}

TEST_F(EntryTest, HashesAWholeFile) {
  put(root / "f", std::string(600'000, 'a'));
  const UniqueFd file = open("f", O_RDONLY);
  ::lseek(file.get(), 100, SEEK_SET);
  EXPECT_EQ(hash_file(file.get(), 600'000).value(), Sha256::of(std::string(600'000, 'a')));
  EXPECT_EQ(hash_file(file.get(), 600'001).value(), Sha256::of(std::string(600'000, 'a'))) << "it was cut short";
  EXPECT_EQ(word(hash_file(open(".", O_RDONLY).get(), 0)), "is_a_directory");
}

TEST_F(EntryTest, HashesNoMoreThanWasSeenOfAFileThatGrows) {
  put(root / "f", "abc");
  const Entry entry = fresh(entry_of(open("f").get()).value());
  std::filesystem::resize_file(root / "f", std::uintmax_t{4} << 40U);
  EXPECT_FALSE(hash_file(open("f", O_RDONLY).get(), entry.size).value());
  const UniqueFd file = open("f");
  EXPECT_FALSE(TagList::parse("\"h-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"")
                   .value()
                   .match(file.get(), entry)
                   .value());
  // It looks again, and finds a file that is too large, or old enough for a time tag.
  const auto tag = entity_tag(file.get(), entry);
  if (tag) EXPECT_TRUE(tag->starts_with("\"m-")) << *tag;
}

TEST_F(EntryTest, HashesNothingWhenStopped) {
  put(root / "f", "abc");
  const UniqueFd file = open("f", O_RDONLY);
  const Entry entry = fresh(entry_of(file.get()).value());
  std::stop_source left;
  left.request_stop();
  const std::stop_token stop = left.get_token();
  EXPECT_EQ(word(hash_file(file.get(), entry.size, stop)), "cancelled");
  EXPECT_FALSE(entity_tag(file.get(), entry, kMostHashedForTag, stop));
  const auto by_content = TagList::parse("\"h-" + to_hex(Sha256::of("abc")) + '"').value();
  EXPECT_EQ(word(by_content.match(file.get(), entry, stop)), "cancelled");
  EXPECT_EQ(word(by_content.match_weakly(file.get(), entry, stop)), "cancelled");
}

TEST_F(EntryTest, MatchesTagsInEitherForm) {
  put(root / "f", "abc");
  const UniqueFd file = open("f");
  const Entry entry = entry_of(file.get()).value();
  const std::string by_time = time_tag(entry);
  const std::string by_content = "\"h-" + to_hex(Sha256::of("abc")) + '"';
  const auto matches = [&](const std::string& list) {
    const auto parsed = TagList::parse(list);
    return parsed && parsed->match(file.get(), entry).value();
  };
  EXPECT_TRUE(matches("*"));
  EXPECT_TRUE(matches(by_time));
  EXPECT_TRUE(matches(by_content));
  EXPECT_TRUE(matches("\"other\", " + by_content + ",\"more, with a comma\""));
  EXPECT_TRUE(matches(" \"h-00\" ,\t" + by_time + " "));
  EXPECT_FALSE(matches("\"h-" + to_hex(Sha256::of("abd")) + '"'));
  EXPECT_FALSE(matches("\"m-1-2-3-4\""));
  EXPECT_FALSE(matches("\"\""));
  EXPECT_FALSE(matches("W/" + by_time)) << "If-Match compares strongly";
  EXPECT_TRUE(TagList::parse("W/" + by_time)->match_weakly(file.get(), entry).value());
  EXPECT_TRUE(TagList::parse("W/\"x\", W/" + by_content)->match_weakly(file.get(), entry).value());
}

TEST_F(EntryTest, DoesNotHashALargeFileForATagThatItCanNotHave) {
  put(root / "f", "");
  std::filesystem::resize_file(root / "f", 1ULL << 42U);
  const UniqueFd file = open("f");
  const std::string tag = "\"h-" + std::string(64, '0') + '"';
  EXPECT_FALSE(TagList::parse(tag)->match(file.get(), entry_of(file.get()).value()).value());
}

TEST_F(EntryTest, RefusesInvalidListsOfTags) {
  for (const char* text : {"", " ", "abc", "\"abc", "\"a\" \"b\"", "\"a\",", ",", "W/", "w/\"a\"", "*, \"a\"", "**"}) {
    EXPECT_EQ(word(TagList::parse(text)), "invalid_field") << text;
  }
}

}  // namespace
}  // namespace skiff::fs
