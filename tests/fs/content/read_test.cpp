#include "fs/content/read.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/files_test.hpp"

namespace skiff::fs {
namespace {

using test::put;
using test::word;

class ReadTest : public test::Files {
 public:
  Tree tree = open_tree();

  std::string lines(const std::string& path, std::string_view range) const {
    const auto wanted = parse_lines(range);
    if (!wanted) return "error: " + std::string{name(wanted.error().code)};
    const OpenFile file = open_to_read(tree, path).value();
    const ByteRange bytes = find_lines(file.fd.get(), *wanted, file.entry.size).value();
    std::string text(bytes.to - bytes.from, '\0');
    text.resize(read_at(file.fd.get(), bytes.from, text).value());
    return text;
  }
};

TEST_F(ReadTest, ReadsARangeAndLessOnlyAtTheEnd) {
  put(root / "f", "0123456789");
  const OpenFile file = open_to_read(tree, "f").value();
  EXPECT_EQ(file.entry.size, 10U);
  char buffer[4];
  EXPECT_EQ(read_at(file.fd.get(), 3, buffer), 4U);
  EXPECT_EQ((std::string_view{buffer, 4}), "3456");
  EXPECT_EQ(read_at(file.fd.get(), 8, buffer), 2U);
  EXPECT_EQ(read_at(file.fd.get(), 10, buffer), 0U);
  EXPECT_EQ(read_at(file.fd.get(), 1'000'000, buffer), 0U);
}

TEST_F(ReadTest, GoesOnWithTheFileItOpened) {
  put(root / "f", "old");
  const OpenFile file = open_to_read(tree, "f").value();
  put(root / "g", "new content");
  std::filesystem::rename(root / "g", root / "f");
  std::string text(10, '\0');
  text.resize(read_at(file.fd.get(), 0, text).value());
  EXPECT_EQ(text, "old");
}

TEST_F(ReadTest, LooksAtALinkItself) {
  std::filesystem::create_symlink("../outside/secret", root / "link");
  EXPECT_EQ(look_at(tree, "link")->entry.type, EntryType::link);
  EXPECT_EQ(look_at(tree, "link")->entry.target, "../outside/secret");
  EXPECT_EQ(word(look_at(tree, "link", Links::follow)), "path_escapes_root");
  EXPECT_EQ(look_at(tree, ".")->entry.type, EntryType::directory);
  EXPECT_EQ(word(look_at(tree, "none")), "path_not_found");
  EXPECT_EQ(word(open_to_read(tree, "link")), "path_escapes_root");
  EXPECT_EQ(word(open_to_read(tree, ".")), "is_a_directory");
}

TEST_F(ReadTest, UnderstandsLineRanges) {
  EXPECT_EQ(parse_lines("10-40")->first, 10U);
  EXPECT_EQ(parse_lines("10-40")->last, 40U);
  EXPECT_EQ(parse_lines("10-")->last, 0U);
  EXPECT_EQ(parse_lines("7")->last, 7U);
  for (const char* text :
       {"", "-", "0", "0-3", "3-0", "5-4", "-5", "a", "1-b", "1-2-3", " 1", "99999999999999999999"}) {
    EXPECT_EQ(word(parse_lines(text)), "invalid_field") << text;
  }
}

TEST_F(ReadTest, FindsLines) {
  put(root / "f", "one\ntwo\n\nfour");
  EXPECT_EQ(lines("f", "1"), "one\n");
  EXPECT_EQ(lines("f", "2-3"), "two\n\n");
  EXPECT_EQ(lines("f", "3"), "\n");
  EXPECT_EQ(lines("f", "4"), "four");
  EXPECT_EQ(lines("f", "2-"), "two\n\nfour");
  EXPECT_EQ(lines("f", "1-"), "one\ntwo\n\nfour");
  EXPECT_EQ(lines("f", "3-100"), "\nfour");
  EXPECT_EQ(lines("f", "5-9"), "");
  put(root / "g", "a\nb\n");
  EXPECT_EQ(lines("g", "2-2"), "b\n");
  EXPECT_EQ(lines("g", "3-"), "");
  put(root / "empty", "");
  EXPECT_EQ(lines("empty", "1-10"), "");
}

TEST_F(ReadTest, FindsLinesAcrossBlocks) {
  std::string text;
  std::vector<std::size_t> starts;
  for (int i = 0; text.size() < 3'000'000; ++i) {
    starts.push_back(text.size());
    text += std::string(static_cast<std::size_t>(i * 7919 % 2'003), 'x') + std::to_string(i) + "\n";
  }
  put(root / "big", text);
  for (std::size_t from = 0; from + 3 < starts.size(); from += 97) {
    const std::string range = std::to_string(from + 1) + "-" + std::to_string(from + 2);
    ASSERT_EQ(lines("big", range), text.substr(starts[from], starts[from + 2] - starts[from])) << range;
  }
}

TEST_F(ReadTest, FindsTheStartOfAFileOfManyGigabytesWithoutReadingTheRest) {
  put(root / "sparse", "a\nb\nc\n");
  ASSERT_EQ(::truncate((root / "sparse").c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(lines("sparse", "2-3"), "b\nc\n");
  const OpenFile file = open_to_read(tree, "sparse").value();
  const ByteRange rest = find_lines(file.fd.get(), {.first = 3, .last = 0}, file.entry.size).value();
  EXPECT_EQ(rest.from, 4U);
  EXPECT_EQ(rest.to, std::uint64_t{1} << 40);
}

TEST_F(ReadTest, StopsWhereAFileWasTruncated) {
  put(root / "f", "a\nb\n");
  const OpenFile file = open_to_read(tree, "f").value();
  const ByteRange bytes = find_lines(file.fd.get(), {.first = 2, .last = 9}, 1'000'000).value();
  EXPECT_EQ(bytes.from, 2U);
  EXPECT_EQ(bytes.to, 4U);
}

TEST_F(ReadTest, SkipsHolesOfASparseFile) {
  constexpr std::uint64_t kSize = 1ULL << 42U;
  put(root / "f", "one\n");
  std::filesystem::resize_file(root / "f", kSize - 4);
  std::ofstream{root / "f", std::ios::app} << "\nend";
  EXPECT_EQ(lines("f", "1"), "one\n");
  EXPECT_EQ(lines("f", "3"), "end");
  EXPECT_EQ(lines("f", "4"), "");
}

TEST_F(ReadTest, StopsLookingForLines) {
  put(root / "f", "one\ntwo\n");
  const OpenFile file = open_to_read(tree, "f").value();
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(word(find_lines(file.fd.get(), {.first = 2, .last = 2}, 8, kMostReadForLines, source.get_token())),
            "cancelled");
}

TEST_F(ReadTest, LimitsTheBytesSearchedForLines) {
  put(root / "f", std::string(600'000, 'x') + "\nend");
  const OpenFile file = open_to_read(tree, "f").value();
  const auto refused = find_lines(file.fd.get(), {.first = 2, .last = 2}, file.entry.size, 300'000);
  EXPECT_EQ(word(refused), "payload_too_large");
  EXPECT_EQ(find_lines(file.fd.get(), {.first = 2, .last = 2}, file.entry.size, 700'000)->from, 600'001U);
}

}  // namespace
}  // namespace skiff::fs
