#include "protocol/net/splice_pipes.hpp"

#include <gtest/gtest.h>

#include <linux/capability.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>

namespace skiff::protocol {
namespace {

struct Pair {
  explicit Pair(boost::asio::io_context& io) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    one = Stream{io.get_executor(), UniqueFd{ends[0]}, "one"};
    other = Stream{io.get_executor(), UniqueFd{ends[1]}, "other"};
  }
  Stream one;
  Stream other;
};

/// Takes these capabilities from the thread, while it lives.
class Without {
 public:
  explicit Without(std::initializer_list<unsigned> capabilities) {
    EXPECT_EQ(::syscall(SYS_capget, &header_, before_.data()), 0);
    auto now = before_;
    for (const unsigned one : capabilities) now.at(one / 32).effective &= ~(1U << one % 32);
    EXPECT_EQ(::syscall(SYS_capset, &header_, now.data()), 0);
  }
  ~Without() { ::syscall(SYS_capset, &header_, before_.data()); }
  Without(const Without&) = delete;
  Without& operator=(const Without&) = delete;

 private:
  __user_cap_header_struct header_{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> before_{};
};

std::size_t take_all(SplicePipes& pipes, std::vector<SplicePipes::Pipe>& taken, const std::string& who) {
  std::size_t count = 0;
  while (auto pipe = pipes.take(who)) {
    taken.push_back(std::move(*pipe));
    ++count;
  }
  return count;
}

TEST(SplicePipes, CarriesBytesAndTellsTheEnd) {
  SplicePipes pipes{2};
  boost::asio::io_context io;
  Pair from{io};
  Pair to{io};
  const auto received = from.other.count();
  const auto sent = to.one.count();
  auto pipe = pipes.take("a");
  ASSERT_TRUE(pipe);
  EXPECT_FALSE(pipe->fill(&from.other)) << "nothing has come";
  ASSERT_EQ(::write(from.one.fd(), "bytes", 5), 5);
  EXPECT_EQ(pipe->fill(&from.other).value().value(), 5U);
  EXPECT_EQ(pipe->drain(&to.one).value(), 5U);
  EXPECT_EQ(pipe->size(), 0U);
  std::array<char, 8> got{};
  ASSERT_EQ(::read(to.other.fd(), got.data(), got.size()), 5);
  EXPECT_EQ(std::string(got.data(), 5), "bytes");
  EXPECT_EQ(received->received, 5U);
  EXPECT_EQ(sent->sent, 5U);
  from.one.close();
  EXPECT_EQ(pipe->fill(&from.other).value().value(), 0U);
  from.other.close();
  EXPECT_FALSE(pipe->fill(&from.other).value());
}

TEST(SplicePipes, SharesThemAmongHolders) {
  SplicePipes pipes{8};
  std::vector<SplicePipes::Pipe> taken;
  EXPECT_EQ(take_all(pipes, taken, "greedy"), 4U);
  EXPECT_EQ(take_all(pipes, taken, "other"), 2U);
  EXPECT_EQ(take_all(pipes, taken, "third"), 1U);
  taken.clear();
  EXPECT_EQ(pipes.taken(), 0U);
}

TEST(SplicePipes, GivesNobodyTheBytesOfAnother) {
  SplicePipes pipes{1};
  boost::asio::io_context io;
  Pair from{io};
  ASSERT_EQ(::write(from.one.fd(), "secret", 6), 6);
  {
    auto pipe = pipes.take("a");
    ASSERT_TRUE(pipe);
    EXPECT_EQ(pipe->fill(&from.other).value().value(), 6U);
  }
  Pair next{io};
  Pair to{io};
  ASSERT_EQ(::write(next.one.fd(), "x", 1), 1);
  auto pipe = pipes.take("b");
  ASSERT_TRUE(pipe);
  EXPECT_EQ(pipe->fill(&next.other).value().value(), 1U);
  EXPECT_EQ(pipe->drain(&to.one).value(), 1U);
  std::array<char, 8> got{};
  ASSERT_EQ(::read(to.other.fd(), got.data(), got.size()), 1);
  EXPECT_EQ(got[0], 'x');
}

TEST(SplicePipes, GivesNoneWithoutFreeDescriptors) {
  SplicePipes pipes{4};
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_FALSE(pipes.take("a"));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(pipes.taken(), 0U);
  EXPECT_TRUE(pipes.take("a"));
}

TEST(SplicePipes, GivesNoneBeyondTheUsersLimit) {
  // A user without capabilities has a limit for the pages of all pipes together (pipe(7)).
  const Without unlimited{CAP_SYS_RESOURCE, CAP_SYS_ADMIN};
  constexpr std::size_t kMany = 1'000;
  SplicePipes pipes{kMany};
  std::vector<SplicePipes::Pipe> taken;
  EXPECT_LT(take_all(pipes, taken, "a"), kMany / 2);
  EXPECT_EQ(pipes.taken(), taken.size());
  taken.clear();
  EXPECT_TRUE(pipes.take("a"));
}

TEST(SplicePipes, GivesNoneWhereTheKernelDoesNotSplice) {
  SplicePipes pipes{4};
  boost::asio::io_context io;
  // A descriptor that splice(2) does not take.
  Stream unfit{io.get_executor(), UniqueFd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}, "unfit"};
  auto pipe = pipes.take("a");
  ASSERT_TRUE(pipe);
  EXPECT_FALSE(pipe->fill(&unfit));
  EXPECT_FALSE(pipes.take("a"));
}

}  // namespace
}  // namespace skiff::protocol
