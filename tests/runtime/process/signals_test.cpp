#include "runtime/process/signals.hpp"

#include <gtest/gtest.h>

namespace skiff::runtime {
namespace {

constexpr pid_t kInit = 1;

signalfd_siginfo sent(int code, std::uint32_t pid) {
  signalfd_siginfo info{};
  info.ssi_code = code;
  info.ssi_pid = pid;
  return info;
}

TEST(SignalsFromOutside, HaveTheCodeOfKillAndNoSenderForPid1) {
  EXPECT_TRUE(is_from_outside(sent(SI_USER, 0), kInit));
}

TEST(SignalsFromOutside, ExcludeProcessesInside) {
  EXPECT_FALSE(is_from_outside(sent(SI_USER, 17), kInit));
  EXPECT_FALSE(is_from_outside(sent(SI_TKILL, 17), kInit));
}

TEST(SignalsFromOutside, ExcludeForgedSenders) {
  EXPECT_FALSE(is_from_outside(sent(SI_QUEUE, 0), kInit));
  EXPECT_FALSE(is_from_outside(sent(SI_SIGIO, 0), kInit));
  EXPECT_FALSE(is_from_outside(sent(POLL_IN, 0), kInit));
}

TEST(SignalsFromOutside, IncludeAllSignalsIfNotPid1) {
  EXPECT_TRUE(is_from_outside(sent(SI_USER, 17), 4711));
  EXPECT_TRUE(is_from_outside(sent(SI_QUEUE, 0), 4711));
}

TEST(TheQueueOfSignals, IsReadFromTheStatus) {
  const auto queue = signal_queue("Name:\tskiffd\nSigQ:\t7/96365\nSigPnd:\t0000000000000000\n");
  ASSERT_TRUE(queue);
  EXPECT_EQ(queue->entries, 7U);
  EXPECT_EQ(queue->limit, 96365U);
  for (const auto* without : {"", "Name:\tskiffd\n", "Name:\tx\nSigQ:\t", "Name:\tx\nSigQ:\t7", "Name:\tx\nSigQ:\t7/",
                              "Name:\tx\nSigQ:\t-/5"})
    EXPECT_FALSE(signal_queue(without)) << without;
}

TEST(ASignalWithoutAnEntry, LeavesAFullQueueAsLongAsItWas) {
  EXPECT_TRUE(had_no_entry({.entries = 64, .limit = 64}, {.entries = 64, .limit = 64}));
  EXPECT_TRUE(had_no_entry({.entries = 0, .limit = 0}, {.entries = 0, .limit = 0}));
  EXPECT_FALSE(had_no_entry({.entries = 65, .limit = 64}, {.entries = 64, .limit = 64}));
}

TEST(ASignalWithoutAnEntry, IsRuledOutIfTheQueueHasRoom) {
  EXPECT_FALSE(had_no_entry({.entries = 3, .limit = 64}, {.entries = 3, .limit = 64}));
  EXPECT_FALSE(had_no_entry({.entries = 3, .limit = 64}, {.entries = 9, .limit = 64}));
}

}  // namespace
}  // namespace skiff::runtime
