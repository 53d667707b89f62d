#include "container/drivers/box/handover.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include <gtest/gtest.h>

namespace skiff::container::box {
namespace {

struct Ends {
  UniqueFd ours, theirs;
};
Ends connected() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {UniqueFd{ends[0]}, UniqueFd{ends[1]}};
}

UniqueFd null_device() {
  return UniqueFd{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
}

bool is_null_device(const UniqueFd& fd) {
  struct stat one{};
  struct stat other{};
  return ::fstat(fd.get(), &one) == 0 && ::stat("/dev/null", &other) == 0 && one.st_rdev == other.st_rdev;
}

TEST(BoxHandover, BringsThePlanAndTheDescriptors) {
  Ends ends = connected();
  Handover given{.plan = {.hostname = "demo", .user = 7, .group = 8}, .listeners = {}, .lock = null_device()};
  given.plan.texts.push_back({.path = "/etc/x", .content = std::string(500'000, 'x')});
  given.listeners.push_back(null_device());
  given.listeners.push_back(null_device());
  ASSERT_TRUE(send_handover(ends.ours.get(), given).has_value());
  const auto read = receive_handover(ends.theirs.get());
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->plan.hostname, "demo");
  EXPECT_EQ(read->plan.user, 7U);
  EXPECT_EQ(read->plan.texts.front().content.size(), 500'000U);
  EXPECT_TRUE(is_null_device(read->lock));
  ASSERT_EQ(read->listeners.size(), 2U);
  for (const UniqueFd& listener : read->listeners) {
    EXPECT_TRUE(is_null_device(listener));
    EXPECT_NE(::fcntl(listener.get(), F_GETFD) & FD_CLOEXEC, 0);
  }
}

TEST(BoxHandover, BringsTreesInTheirOrder) {
  Ends ends = connected();
  Handover given{.plan = {}, .listeners = {}, .lock = null_device()};
  given.listeners.push_back(null_device());
  for (int i = 0; i < 120; ++i) given.trees.push_back(i % 3 == 0 ? UniqueFd{} : null_device());
  ASSERT_TRUE(send_handover(ends.ours.get(), given).has_value());
  ends.ours.reset();
  const auto read = receive_handover(ends.theirs.get());
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->trees.size(), 120U);
  for (std::size_t i = 0; i < read->trees.size(); ++i) EXPECT_EQ(bool{read->trees[i]}, i % 3 != 0) << i;
  EXPECT_EQ(read->listeners.size(), 1U);
}

TEST(BoxHandover, NeedsNoLock) {
  Ends ends = connected();
  ASSERT_TRUE(send_handover(ends.ours.get(), {.plan = {}, .listeners = {}, .lock = {}}).has_value());
  const auto read = receive_handover(ends.theirs.get());
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_FALSE(read->lock);
  EXPECT_TRUE(read->listeners.empty());
}

TEST(BoxHandover, TakesASocketBack) {
  Ends ends = connected();
  EXPECT_FALSE(receive_back(ends.ours.get()).has_value());
  ASSERT_TRUE(send_back(ends.theirs.get(), null_device()).has_value());
  const auto taken = receive_back(ends.ours.get());
  ASSERT_TRUE(taken.has_value()) << taken.error().message;
  EXPECT_TRUE(is_null_device(*taken));
  EXPECT_NE(::fcntl(taken->get(), F_GETFD) & FD_CLOEXEC, 0);
  ASSERT_EQ(::write(ends.theirs.get(), "s", 1), 1);
  EXPECT_FALSE(receive_back(ends.ours.get()).has_value());
  ends.theirs.reset();
  EXPECT_FALSE(receive_back(ends.ours.get()).has_value());
}

TEST(BoxHandover, IsNothingElse) {
  Ends silent = connected();
  silent.ours.reset();
  EXPECT_FALSE(receive_handover(silent.theirs.get()).has_value());
  Ends talking = connected();
  ASSERT_EQ(::write(talking.ours.get(), "{}", 2), 2);
  EXPECT_FALSE(receive_handover(talking.theirs.get()).has_value());
  const UniqueFd file = null_device();
  EXPECT_FALSE(receive_handover(file.get()).has_value());
}

}  // namespace
}  // namespace skiff::container::box
