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

}  // namespace
}  // namespace skiff::runtime
