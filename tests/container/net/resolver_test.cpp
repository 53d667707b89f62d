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
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "base/async/task_group.hpp"
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

/// Answers for good.example.com and for no other name, until an empty message comes.
void serve_one_name(int server) {
  constexpr std::string_view kGood{"\4good\7example\3com", 17};
  constexpr std::string_view kRecord{"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x0b\7\7\7", 16};
  std::array<char, 512> block{};
  for (;;) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    auto* const from = reinterpret_cast<sockaddr*>(&peer);
    const ssize_t got = ::recvfrom(server, block.data(), block.size(), 0, from, &size);
    if (got <= 0) return;
    std::string message{block.data(), static_cast<std::size_t>(got)};
    const std::size_t name = message.find(kGood);
    if (name == std::string::npos) continue;
    const bool is_ipv4 = message.at(name + kGood.size() + 2) == 1;
    // Without the additional record of the question.
    message.resize(name + kGood.size() + 5);
    message.replace(2, 2, "\x81\x80");
    message.replace(6, 6, std::string{"\0\0\0\0\0\0", 6}.replace(1, 1, 1, is_ipv4 ? '\1' : '\0'));
    if (is_ipv4) message += kRecord;
    (void)::sendto(server, message.data(), message.size(), 0, from, size);
  }
}

/// Runs the body on a reactor in a network whose name server knows one name and never answers for others. Only root
/// may do this.
void run_in_deaf_network(Task<> (*body)(Executor)) {
  const test::TemporaryDirectory directory;
  const auto file = directory.path() / "resolv.conf";
  std::ofstream{file} << "nameserver " << kDeaf << "\noptions timeout:30 attempts:1\n";
  std::thread{[&] {
    UniqueFd server;
    if (!enter_deaf_network(file, server)) return;
    std::thread names{&serve_one_name, server.get()};
    boost::asio::io_context io;
    boost::asio::co_spawn(io, body(io.get_executor()), boost::asio::detached);
    io.run_for(test::kReactorLimit);
    EXPECT_TRUE(io.stopped()) << "it has not ended";
    sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(53), .sin_addr = {}, .sin_zero = {}};
    ::inet_pton(AF_INET, kDeaf, &address.sin_addr);
    (void)::sendto(server.get(), "", 0, 0, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    names.join();
  }}.join();
}

TEST(Resolver, ALookUpEndsWithItsCaller) {
  run_in_deaf_network([](Executor) -> Task<> {
    // Each would take longer than a test may.
    for (int i = 0; i < 2; ++i) {
      const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{20};
      const auto found = co_await within(until, system_resolver()("deaf.example.com.", 443));
      EXPECT_FALSE(found && found->has_value());
    }
  });
}

TEST(Resolver, ServersThatNeverAnswerStopNoOtherLookUp) {
  run_in_deaf_network([](Executor executor) -> Task<> {
    TaskGroup group{executor};
    for (int i = 0; i < 300; ++i) {
      group.spawn("deaf", [](std::string name) -> Task<> {
        (void)co_await system_resolver()(std::move(name), 443);
      }("deaf-" + std::to_string(i) + ".example.com."));
    }
    const auto found = co_await system_resolver()("good.example.com.", 443);
    EXPECT_TRUE(found && found->size() == 1) << (found ? "" : found.error().message);
    if (found && !found->empty()) EXPECT_EQ(found->at(0).text(), "11.7.7.7:443");
    EXPECT_EQ(group.size(), 300U);
    group.cancel();
    co_await group.join();
  });
}

CO_TEST(Resolver, KnowsThisMachine) {
  const auto resolve = system_resolver();
  auto found = co_await resolve("localhost", 80);
  CO_ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_FALSE(found->empty());
  EXPECT_TRUE(
      std::ranges::all_of(*found, [](const protocol::Address& a) { return a.is_loopback() && a.port() == 80; }));
}

CO_TEST(Resolver, TakesLiteralsAsTheyAre) {
  const auto resolve = system_resolver();
  auto four = co_await resolve("192.0.2.1", 443);
  CO_ASSERT_TRUE(four.has_value());
  EXPECT_EQ(four->at(0).text(), "192.0.2.1:443");
  auto six = co_await resolve("2001:db8::1", 443);
  CO_ASSERT_TRUE(six.has_value());
  EXPECT_EQ(six->at(0).text(), "[2001:db8::1]:443");
}

CO_TEST(Resolver, SaysThatANameIsUnknown) {
  const auto resolve = system_resolver();
  // No name of DNS: it is refused before any server is asked.
  auto found = co_await resolve("not a name", 80);
  CO_ASSERT_TRUE(!found.has_value());
  EXPECT_EQ(found.error().message.find("look up \"not a name\": "), 0u) << found.error().message;
}

}  // namespace
}  // namespace skiff::net
