#include "sessions/host/ports.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include <gtest/gtest.h>

#include "base/unique_fd.hpp"
#include "tests/support/fake_root.hpp"

namespace skiff::sessions {
namespace {

using test::FakeRoot;

constexpr auto kHeading =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

TEST(ListeningPorts, ListsOnlyListenersWithTheirAddresses) {
  const FakeRoot root;
  root.write("proc/net/tcp",
             std::string{kHeading} +
                 "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 111 1 0\n"
                 "   2: 0100407F:01BB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 115 1 0\n"
                 "   1: 0100007F:1F91 0100007F:A000 01 00000000:00000000 00:00000000 00000000     0        0 112 1 0\n"
                 "garbage\n");
  root.write("proc/net/tcp6",
             std::string{kHeading} +
                 "   0: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A "
                 "00000000:00000000 00:00000000 00000000     0        0 113 1 0\n"
                 "   1: 00000000000000000000000001000000:0051 00000000000000000000000000000000:0000 0A "
                 "00000000:00000000 00:00000000 00000000     0        0 114 1 0\n");
  root.link("proc/77/fd/5", "socket:[111]");
  root.link("proc/77/fd/6", "/dev/null");
  root.link("proc/9/fd/3", "pipe:[113]");
  root.write("proc/77/comm", "server\n");
  const auto ports = listening_ports(root.path);
  ASSERT_EQ(ports.size(), 3U);
  EXPECT_EQ(ports[0].port, 80);
  EXPECT_EQ(ports[0].address, "::");
  EXPECT_TRUE(ports[0].ipv6);
  EXPECT_FALSE(ports[0].pid);
  EXPECT_EQ(ports[1].address, "::1");
  EXPECT_EQ(ports[2].port, 8080);
  EXPECT_EQ(ports[2].address, "127.0.0.1");
  EXPECT_FALSE(ports[2].ipv6);
  EXPECT_EQ(ports[2].uid, 1000U);
  EXPECT_EQ(ports[2].pid, 77);
  EXPECT_EQ(ports[2].process, "server");
}

TEST(ListeningPorts, NamesTheFirstProcessOfASharedSocket) {
  const FakeRoot root;
  root.write("proc/net/tcp",
             std::string{kHeading} +
                 "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0        0 111 1 0\n");
  root.link("proc/9/fd/3", "socket:[111]");
  root.link("proc/10/fd/3", "socket:[111]");
  const auto ports = listening_ports(root.path);
  ASSERT_EQ(ports.size(), 1U);
  EXPECT_EQ(ports[0].pid, 9);
}

TEST(ListeningPorts, FindsASocketOfThisProcess) {
  const UniqueFd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const auto ports = listening_ports();
  const auto found = std::ranges::find(ports, ntohs(address.sin_port), &ListeningPort::port);
  ASSERT_NE(found, ports.end());
  EXPECT_EQ(found->address, "127.0.0.1");
  EXPECT_EQ(found->pid, ::getpid());
}

}  // namespace
}  // namespace skiff::sessions
