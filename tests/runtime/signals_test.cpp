#include "runtime/signals.hpp"

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

TEST(SignalsFromOutside, ShowPid1TheCodeOfKillAndNoSender) {
  EXPECT_TRUE(is_from_outside(sent(SI_USER, 0), kInit));
}

TEST(SignalsFromOutside, AreNotThoseOfAProcessInside) {
  EXPECT_FALSE(is_from_outside(sent(SI_USER, 17), kInit));
  EXPECT_FALSE(is_from_outside(sent(SI_TKILL, 17), kInit));
}

TEST(SignalsFromOutside, AreNotThoseWithASenderThatIsMadeUp) {
  EXPECT_FALSE(is_from_outside(sent(SI_QUEUE, 0), kInit));
  EXPECT_FALSE(is_from_outside(sent(SI_SIGIO, 0), kInit));
  EXPECT_FALSE(is_from_outside(sent(POLL_IN, 0), kInit));
}

TEST(SignalsFromOutside, AreAllOfThemWhereTheAgentIsNotPid1) {
  EXPECT_TRUE(is_from_outside(sent(SI_USER, 17), 4711));
  EXPECT_TRUE(is_from_outside(sent(SI_QUEUE, 0), 4711));
}

TEST(EntriesOfOthers, AreThoseOfTheQueueWithoutThoseOfWaitingSignals) {
  constexpr std::string_view kHead = "Name:\tskiffd\nSigQ:\t7/96365\nSigPnd:\t000000000000000f\nShdPnd:\t";
  EXPECT_EQ(entries_of_others(std::string{kHead} + "0000000000000000\n"), 7);
  EXPECT_EQ(entries_of_others(std::string{kHead} + "0000000000014000\n"), 5);
  EXPECT_EQ(entries_of_others("SigPnd:\t0\n"), std::nullopt);
  EXPECT_EQ(entries_of_others(kHead), std::nullopt);
}

}  // namespace
}  // namespace skiff::runtime
