#include "tests/support/interruptions.hpp"

#include <gtest/gtest.h>

#include "fs/archive/archive.hpp"
#include "fs/archive/extract.hpp"
#include "fs/content/read.hpp"
#include "fs/content/write.hpp"
#include "fs/tree/change.hpp"
#include "fs/tree/list.hpp"
#include "tests/support/files_test.hpp"

namespace skiff::fs {
namespace {

using test::get;
using test::Interruptions;
using test::put;

class InterruptedTest : public test::Files {
 public:
  Tree tree = open_tree();
};

/// Number of signals that a test waits for.
constexpr int kInterruptions = 200;

TEST_F(InterruptedTest, FilesAreWrittenReadCopiedAndRemovedWhole) {
  const std::string data(3'000'000, 'x');
  WriteOptions options;
  options.durability = Durability::synced;
  const Interruptions storm;
  const int before = Interruptions::count();
  while (Interruptions::count() - before < kInterruptions) {
    ASSERT_TRUE(write_file(tree, "a/b/f", data, options));
    ASSERT_EQ(get(root / "a/b/f").size(), data.size());
    auto opened = open_to_read(tree, "a/b/f");
    ASSERT_TRUE(opened);
    std::string seen(data.size(), '\0');
    const auto got = read_at(opened->fd.get(), 0, seen);
    ASSERT_TRUE(got);
    ASSERT_TRUE(*got == data.size() && seen == data);
    ASSERT_TRUE(copy(tree, "a", "c", {}));
    ASSERT_TRUE(get(root / "c/b/f") == data);
    ASSERT_TRUE(remove(tree, "c", Contents::remove));
    ASSERT_FALSE(std::filesystem::exists(root / "c"));
  }
}

TEST_F(InterruptedTest, AnArchiveGoesOutAndComesBack) {
  std::filesystem::create_directory(root / "from");
  for (int number = 0; number < 20; ++number) put(root / "from" / std::to_string(number), std::string(50'000, 'x'));
  ArchiveOptions options;
  options.compression = Compression::gzip;
  const Interruptions storm;
  const int before = Interruptions::count();
  while (Interruptions::count() - before < kInterruptions) {
    std::string packed;
    const auto from = tree.open_directory("from");
    ASSERT_TRUE(from);
    ASSERT_TRUE(write_archive(*from, options, {}, [&](std::string_view bytes) {
      packed += bytes;
      return true;
    }));
    ASSERT_TRUE(create_directory(tree, "to", Parents::make));
    const auto to = tree.open_directory("to");
    ASSERT_TRUE(to);
    std::string_view left = packed;
    const ByteSource source = [&](std::span<char> into) -> Result<std::size_t> {
      const std::size_t size = std::min(into.size(), left.size());
      std::ranges::copy(left.substr(0, size), into.begin());
      left.remove_prefix(size);
      return size;
    };
    const auto summary = extract_archive(*to, source, {}, {});
    ASSERT_TRUE(summary) << summary.error().message;
    ASSERT_EQ(summary->bytes, 20U * 50'000U);
    ASSERT_TRUE(remove(tree, "to", Contents::remove));
  }
}

}  // namespace
}  // namespace skiff::fs
