#include "container/drivers/box/network/links.hpp"

#include <net/if.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace skiff::container::box {
namespace {

enum Outcome : int { kLinked = 0, kRefused = 1, kNoNamespaces = 2, kNoLink = 3 };

/// In a process of its own: links two new network namespaces, and returns how that went.
int link_two(const std::vector<std::string>& barred) {
  const pid_t outer = ::fork();
  if (outer == 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) ::_exit(kNoNamespaces);
    std::array<int, 2> ready{};
    std::array<int, 2> linked{};
    if (::pipe(ready.data()) != 0 || ::pipe(linked.data()) != 0) ::_exit(kNoNamespaces);
    const pid_t box = ::fork();
    char byte = 0;
    if (box == 0) {
      if (::unshare(CLONE_NEWNET) != 0 || ::write(ready[1], "1", 1) != 1) ::_exit(kNoNamespaces);
      ::close(linked[1]);
      if (::read(linked[0], &byte, 1) != 1) ::_exit(kRefused);
      set_up_link();
      ::_exit(::if_nametoindex("eth0") != 0 ? kLinked : kNoLink);
    }
    ::close(ready[1]);
    if (::read(ready[0], &byte, 1) != 1) ::_exit(kNoNamespaces);
    connect_box(box, barred);
    if (::if_nametoindex("box0") == 0 || ::write(linked[1], "1", 1) != 1) ::_exit(kNoLink);
    int status = 0;
    ::waitpid(box, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : kNoLink);
  }
  int status = 0;
  ::waitpid(outer, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(BoxLinks, ConnectABoxAndBarPrefixes) {
  const int outcome = link_two({"10.0.0.0/8", "10.0.0.0/8", "203.0.113.2/32"});
  if (outcome == kNoNamespaces) GTEST_SKIP() << "no namespaces can be made here";
  EXPECT_EQ(outcome, kLinked);
}

TEST(BoxLinks, RefuseAPrefixThatIsNone) {
  for (const char* bad : {"10.0.0.0", "10.0.0.0/0", "10.0.0.0/33", "10.0.0.0/x"}) {
    const int outcome = link_two({bad});
    if (outcome == kNoNamespaces) GTEST_SKIP() << "no namespaces can be made here";
    EXPECT_EQ(outcome, kRefused) << bad;
  }
}

}  // namespace
}  // namespace skiff::container::box
