#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/async/blocking_pool.hpp"
#include "sessions/output/log.hpp"
#include "tests/support/reactor_test.hpp"
#include "tests/support/temporary_directory.hpp"

/// Helpers that tests of output logs share.
namespace skiff::test {

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMiB = 1024 * kKiB;

/// Appends all of `bytes`, as a pump does that never waits.
inline void write(sessions::OutputLog& log, sessions::Stream stream, std::string_view bytes, bool late = false) {
  while (!bytes.empty()) {
    const std::span<char> room = log.prepare();
    const std::size_t size = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), size);
    log.append(stream, size, late);
    bytes.remove_prefix(size);
  }
}

/// The next item, waited for.
inline Task<sessions::LogItem> take(sessions::Cursor* cursor, std::size_t max_bytes = 256 * kKiB) {
  for (;;) {
    if (auto item = cursor->next(max_bytes)) co_return std::move(*item);
    co_await cursor->ready();
  }
}

/// Everything up to `end`, as one line an item: "out 0 hello", "err late 5 oops", "gap 5 9", "exit 9", "end 9".
inline Task<std::vector<std::string>> transcript(sessions::Cursor* cursor) {
  using Kind = sessions::LogItem::Kind;
  std::vector<std::string> lines;
  while (!cursor->finished()) {
    const sessions::LogItem item = co_await take(cursor);
    const std::string at = std::to_string(item.offset);
    switch (item.kind) {
      case Kind::output:
        lines.push_back((item.stream == sessions::Stream::out ? "out " : "err ") +
                        std::string{item.late ? "late " : ""} + at + " " + std::string{item.bytes.view()});
        break;
      case Kind::gap:
        lines.push_back("gap " + at + " " + std::to_string(item.next));
        break;
      case Kind::exit:
        lines.push_back("exit " + at);
        break;
      case Kind::end:
        lines.push_back("end " + at);
        break;
    }
  }
  co_return lines;
}

/// Bytes that differ at every place, so that a shift by any small number shows.
inline std::string pattern(std::size_t size, std::uint64_t seed = 1) {
  std::mt19937_64 random{seed};
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, std::min<std::size_t>(8, size - i));
  }
  return bytes;
}

/// A budget with room for everything, and the pool it needs.
struct Logs {
  explicit Logs(Executor executor_of_logs,
                sessions::OutputBudget::Limits limits = {.memory_bytes = 1024 * kMiB, .spool = {}})
      : executor{executor_of_logs}, budget{executor, disk, std::move(limits)} {}

  std::shared_ptr<sessions::OutputLog> make(std::size_t keep_bytes = 8 * kMiB,
                                            sessions::Overflow overflow = sessions::Overflow::automatic,
                                            bool checksum = false) {
    return std::make_shared<sessions::OutputLog>(
        executor, budget,
        sessions::OutputLog::Options{.keep_bytes = keep_bytes, .overflow = overflow, .checksum = checksum});
  }

  Executor executor;
  BlockingPool disk{"disk", 2};
  sessions::OutputBudget budget;
};

/// A plain reference for a log: every byte ever written with its stream and lateness; checks what a reader is given.
class LogModel {
 public:
  void add(sessions::Stream stream, std::string_view bytes, bool late) {
    bytes_ += bytes;
    marks_.append(bytes.size(), mark(stream, late));
  }
  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }

  /// `item` comes to a reader that was at `offset`.
  void check(const sessions::LogItem& item, std::uint64_t offset, std::optional<sessions::Stream> only) const {
    using Kind = sessions::LogItem::Kind;
    ASSERT_GE(item.offset, offset);
    ASSERT_GE(item.next, item.offset);
    if (item.offset > offset) {
      ASSERT_TRUE(only) << "bytes were skipped";
      for (std::uint64_t i = offset; i < item.offset && i < size(); ++i) {
        ASSERT_NE(marks_[i] & 3, static_cast<int>(*only)) << "the filter left out a byte of its own stream at " << i;
      }
    }
    if (item.kind != Kind::output) return;
    ASSERT_EQ(item.next - item.offset, item.bytes.size());
    ASSERT_GT(item.bytes.size(), 0U);
    ASSERT_LE(item.next, size());
    ASSERT_TRUE(!only || item.stream == *only);
    ASSERT_TRUE(item.bytes.view() == std::string_view{bytes_}.substr(item.offset, item.bytes.size()))
        << "wrong bytes at " << item.offset;
    const std::string_view marks = std::string_view{marks_}.substr(item.offset, item.bytes.size());
    ASSERT_EQ(marks.find_first_not_of(mark(item.stream, item.late)), std::string_view::npos)
        << "wrong stream at " << item.offset;
  }

 private:
  static char mark(sessions::Stream stream, bool late) {
    return static_cast<char>(static_cast<int>(stream) | (late ? 4 : 0));
  }
  std::string bytes_;
  std::string marks_;
};

}  // namespace skiff::test
