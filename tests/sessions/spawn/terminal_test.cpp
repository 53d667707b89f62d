#include "sessions/spawn/terminal.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <csignal>

#include <gtest/gtest.h>

namespace skiff::sessions {
namespace {

TEST(Terminal, HasTheRequestedSize) {
  const auto terminal = open_terminal({.cols = 132, .rows = 43});
  ASSERT_TRUE(terminal) << terminal.error().message;
  winsize window{};
  ASSERT_EQ(::ioctl(terminal->slave.get(), TIOCGWINSZ, &window), 0);
  EXPECT_EQ(window.ws_col, 132);
  EXPECT_EQ(window.ws_row, 43);
}

TEST(Terminal, IsResizedFromTheMaster) {
  const auto terminal = open_terminal({});
  ASSERT_TRUE(terminal);
  ASSERT_TRUE(resize_terminal(terminal->master.get(), {.cols = 7, .rows = 9}));
  winsize window{};
  ASSERT_EQ(::ioctl(terminal->slave.get(), TIOCGWINSZ, &window), 0);
  EXPECT_EQ(window.ws_col, 7);
  EXPECT_EQ(window.ws_row, 9);
}

TEST(Terminal, TypesTheCharactersOfSignals) {
  const auto terminal = open_terminal({});
  ASSERT_TRUE(terminal);
  termios settings{};
  ASSERT_EQ(::tcgetattr(terminal->slave.get(), &settings), 0);
  EXPECT_TRUE(type_signal(terminal->master.get(), SIGINT));
  EXPECT_FALSE(type_signal(terminal->master.get(), SIGTERM)) << "no key is for it";
  settings.c_lflag &= ~static_cast<tcflag_t>(ISIG);
  ASSERT_EQ(::tcsetattr(terminal->slave.get(), TCSANOW, &settings), 0);
  EXPECT_FALSE(type_signal(terminal->master.get(), SIGINT)) << "a raw terminal passes it on";
}

TEST(Terminal, CannotBeResizedWhereThereIsNone) {
  EXPECT_FALSE(resize_terminal(-1, {}));
}

TEST(Terminal, StartsCanonicalEchoingAndInUtf8) {
  const auto terminal = open_terminal({});
  ASSERT_TRUE(terminal);
  termios settings{};
  ASSERT_EQ(::tcgetattr(terminal->slave.get(), &settings), 0);
  EXPECT_TRUE(settings.c_lflag & ICANON);
  EXPECT_TRUE(settings.c_lflag & ECHO);
  EXPECT_TRUE(settings.c_lflag & ISIG);
  EXPECT_TRUE(settings.c_iflag & IUTF8);
}

TEST(Terminal, IsCloseOnExecAndBlocksOnlyTheChild) {
  const auto terminal = open_terminal({});
  ASSERT_TRUE(terminal);
  EXPECT_TRUE(::fcntl(terminal->master.get(), F_GETFD) & FD_CLOEXEC);
  EXPECT_TRUE(::fcntl(terminal->slave.get(), F_GETFD) & FD_CLOEXEC);
  EXPECT_TRUE(::fcntl(terminal->master.get(), F_GETFL) & O_NONBLOCK);
  EXPECT_FALSE(::fcntl(terminal->slave.get(), F_GETFL) & O_NONBLOCK);
}

TEST(Terminal, CarriesWhatIsTypedToTheOtherSide) {
  const auto terminal = open_terminal({});
  ASSERT_TRUE(terminal);
  ASSERT_EQ(::write(terminal->master.get(), "hello\n", 6), 6);
  char buffer[16];
  EXPECT_EQ(::read(terminal->slave.get(), buffer, sizeof buffer), 6);
}

TEST(Terminal, DoesNotBecomeTheAgentsOwn) {
  const auto terminal = open_terminal({});
  ASSERT_TRUE(terminal);
  // TIOCGSID answers only for the caller's controlling terminal.
  pid_t session = 0;
  EXPECT_NE(::ioctl(terminal->slave.get(), TIOCGSID, &session), 0);
}

}  // namespace
}  // namespace skiff::sessions
