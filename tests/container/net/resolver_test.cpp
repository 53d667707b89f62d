#include "container/net/resolver.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "base/async/with_timeout.hpp"
#include "base/unique_fd.hpp"
#include "tests/support/reactor_test.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::net {
namespace {

constexpr const char* kDeaf = "127.0.0.54";

/// Gives this thread a network and a resolv.conf(5) of its own, with a name server that reads nothing and never
/// answers.
bool enter_deaf_network(const std::filesystem::path& resolv_conf, UniqueFd& server) {
  if (::unshare(CLONE_FS | CLONE_NEWNS | CLONE_NEWNET) != 0) return false;
  server = UniqueFd{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  ifreq loopback{};
  std::strncpy(loopback.ifr_name, "lo", sizeof loopback.ifr_name - 1);
  loopback.ifr_flags = IFF_UP | IFF_RUNNING;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(53);
  return ::inet_pton(AF_INET, kDeaf, &address.sin_addr) == 1 && ::ioctl(server.get(), SIOCSIFFLAGS, &loopback) == 0 &&
         ::bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount(resolv_conf.c_str(), "/etc/resolv.conf", nullptr, MS_BIND, nullptr) == 0;
}

CO_TEST(Resolver, ALookUpEndsWithItsCaller) {
  const test::TemporaryDirectory directory;
  const auto file = directory.path() / "resolv.conf";
  std::ofstream{file} << "nameserver " << kDeaf << "\noptions timeout:30 attempts:1\n";
  UniqueFd server;
  std::shared_ptr<BlockingPool> pool;
  // The thread of the pool has the namespaces of the thread that starts it.
  std::thread{[&] {
    if (enter_deaf_network(file, server)) pool = std::make_shared<BlockingPool>("test", 1);
  }}.join();
  if (!pool) co_return;  // only root may do this

  const auto resolve = system_resolver(pool);
  // Each would take longer than a test may.
  for (int i = 0; i < 2; ++i) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{20};
    const auto found = co_await within(until, resolve("deaf.example.com.", 443));
    EXPECT_FALSE(found && found->has_value());
  }
}

CO_TEST(Resolver, KnowsThisMachine) {
  const auto resolve = system_resolver(std::make_shared<BlockingPool>("test", 1));
  auto found = co_await resolve("localhost", 80);
  CO_ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_FALSE(found->empty());
  EXPECT_TRUE(
      std::ranges::all_of(*found, [](const protocol::Address& a) { return a.is_loopback() && a.port() == 80; }));
}

CO_TEST(Resolver, TakesLiteralsAsTheyAre) {
  const auto resolve = system_resolver(std::make_shared<BlockingPool>("test", 1));
  auto four = co_await resolve("192.0.2.1", 443);
  CO_ASSERT_TRUE(four.has_value());
  EXPECT_EQ(four->at(0).text(), "192.0.2.1:443");
  auto six = co_await resolve("2001:db8::1", 443);
  CO_ASSERT_TRUE(six.has_value());
  EXPECT_EQ(six->at(0).text(), "[2001:db8::1]:443");
}

CO_TEST(Resolver, SaysThatANameIsUnknown) {
  const auto resolve = system_resolver(std::make_shared<BlockingPool>("test", 1));
  // No name of DNS: it is refused before any server is asked.
  auto found = co_await resolve("not a name", 80);
  CO_ASSERT_TRUE(!found.has_value());
  EXPECT_EQ(found.error().message.find("look up \"not a name\": "), 0u) << found.error().message;
}

}  // namespace
}  // namespace skiff::net
