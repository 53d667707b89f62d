#include "fs/watch/log.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace skiff::fs {
namespace {

using Type = WatchEvent::Type;
using Clock = WatchLog::Clock;

const Clock::time_point kStart{};
const Clock::time_point kLater = kStart + std::chrono::seconds{1};

std::vector<std::string> told(const WatchLog& log, std::uint64_t after = 0) {
  std::vector<std::string> lines;
  for (const WatchEvent& event : log.after(after, 1000)) {
    constexpr const char* names[] = {"created", "modified", "deleted", "renamed", "overflow"};
    lines.push_back(std::to_string(event.cursor) + " " + names[static_cast<int>(event.type)] + " " + event.path +
                    (event.from.empty() ? "" : " from " + event.from));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(WatchLog, NumbersItsEvents) {
  WatchLog log{10, 5};
  EXPECT_EQ(log.newest(), 4U);
  log.add({.type = Type::created, .path = "a"});
  log.add({.type = Type::deleted, .path = "a"});
  EXPECT_EQ(told(log, 4), (Lines{"5 created a", "6 deleted a"}));
  EXPECT_EQ(told(log, 5), (Lines{"6 deleted a"}));
  EXPECT_EQ(told(log, 6), (Lines{}));
  EXPECT_EQ(log.after(4, 1).size(), 1U);
  EXPECT_EQ(log.after(4, 0).size(), 0U);
}

TEST(WatchLog, ReportsAGoneOrUnknownCursor) {
  WatchLog log{3, 1};
  for (const char* name : {"a", "b", "c", "d", "e"}) log.add({.type = Type::created, .path = name});
  EXPECT_EQ(told(log, 2), (Lines{"3 created c", "4 created d", "5 created e"}));
  EXPECT_EQ(told(log, 1), (Lines{"2 overflow ", "3 created c", "4 created d", "5 created e"}));
  EXPECT_EQ(told(log, 9), (Lines{"5 overflow "}));
}

TEST(WatchLog, PairsTheHalvesOfARenameInTheirPlace) {
  WatchLog log{10, 1};
  log.hold(7, {.type = Type::deleted, .path = "a"}, kLater);
  log.add({.type = Type::created, .path = "a"});
  EXPECT_EQ(told(log), (Lines{})) << "what came later waits";
  EXPECT_EQ(log.deadline(), kLater);
  EXPECT_FALSE(log.pair(8, "b"));
  EXPECT_TRUE(log.pair(7, "b"));
  EXPECT_EQ(told(log), (Lines{"1 renamed b from a", "2 created a"}));
  EXPECT_FALSE(log.pair(7, "c"));
  EXPECT_FALSE(log.deadline());
}

TEST(WatchLog, ExpiresHalvesOfRenames) {
  WatchLog log{10, 1};
  log.hold(7, {.type = Type::deleted, .path = "a"}, kLater);
  EXPECT_TRUE(log.expire(kStart).empty());
  EXPECT_EQ(log.expire(kLater), (std::vector<std::uint32_t>{7}));
  EXPECT_EQ(told(log), (Lines{"1 deleted a"}));
  EXPECT_FALSE(log.pair(7, "b"));
}

TEST(WatchLog, HoldsNoMoreThanABound) {
  WatchLog log{100'000, 1};
  log.hold(7, {.type = Type::deleted, .path = "a"}, kLater);
  for (int i = 0; i < 5000; ++i) {
    log.add({.type = Type::created, .path = std::to_string(i)});
    (void)log.expire(kStart);
  }
  EXPECT_EQ(log.newest(), 5001U);
}

TEST(WatchLog, MakesOneEventOfManyChanges) {
  WatchLog log{10, 1};
  for (int i = 0; i < 3; ++i) log.add({.type = Type::modified, .path = "a"});
  log.add({.type = Type::modified, .path = "b"});
  log.add({.type = Type::deleted, .path = "a"});
  log.add({.type = Type::modified, .path = "a"});
  log.end_batch();
  log.add({.type = Type::modified, .path = "a"});
  EXPECT_EQ(told(log), (Lines{"1 modified a", "2 modified b", "3 deleted a", "4 modified a", "5 modified a"}));
}

TEST(WatchLog, TellsOfChangesToWhatWasPutOverAChangedName) {
  WatchLog log{10, 1};
  log.add({.type = Type::modified, .path = "b"});
  log.hold(7, {.type = Type::deleted, .path = "a"}, kLater);
  EXPECT_TRUE(log.pair(7, "b"));
  log.add({.type = Type::modified, .path = "b"});
  EXPECT_EQ(told(log), (Lines{"1 modified b", "2 renamed b from a", "3 modified b"}));
}

}  // namespace
}  // namespace skiff::fs
