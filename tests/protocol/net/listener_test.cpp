#include "protocol/net/listener.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/async/event.hpp"
#include "base/async/task_group.hpp"
#include "protocol/http/client.hpp"
#include "tests/protocol/net/test_certificate.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::protocol {
namespace {

using namespace std::chrono_literals;

struct Accepted {
  explicit Accepted(Executor executor) : more{executor} {}
  std::function<void(UniqueFd, Address)> taker() {
    return [this](UniqueFd socket, Address peer) {
      sockets.push_back(std::move(socket));
      peers.push_back(std::move(peer));
      more.notify_all();
    };
  }
  Task<> wait_for(std::size_t count) {
    while (sockets.size() < count) co_await more.wait();
  }

  Event more;
  std::vector<UniqueFd> sockets;
  std::vector<Address> peers;
};

CO_TEST(Listener, TakesAFreePortAndAcceptsAllThatIsPending) {
  auto listener = Listener::open(executor, Address::parse("127.0.0.1:0").value()).value();
  EXPECT_NE(listener->address().port(), 0);
  std::vector<Stream> clients;
  for (int i = 0; i < 100; ++i) {
    auto client = co_await connect(listener->address(), 5s, executor);
    CO_ASSERT_TRUE(client.has_value()) << client.error().message;
    clients.push_back(std::move(*client));
  }
  Accepted accepted{executor};
  TaskGroup group{executor};
  group.spawn("accept", listener->accept_all(accepted.taker()));
  co_await accepted.wait_for(100);
  EXPECT_NE(::fcntl(accepted.sockets[0].get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(::fcntl(accepted.sockets[0].get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(accepted.peers[0].host(), "127.0.0.1");
  listener->close();
  co_await group.join();
}

CO_TEST(Listener, ListensOnIp6) {
  auto listener = Listener::open(executor, Address::parse("[::1]:0").value());
  if (!listener) CO_SKIP() << "no IPv6 here: " << listener.error().message;
  auto client = co_await connect((*listener)->address(), 5s, executor);
  EXPECT_TRUE(client.has_value());
}

CO_TEST(Listener, ReachesBothFamiliesOnEveryAddress) {
  const auto every = Address::parse("[::]:0").value();
  auto listener = Listener::open(executor, every).value();
  const std::uint16_t port = listener->address().port();
  auto by_ip4 = Address::ip("127.0.0.1", port).value();
  auto client = co_await connect(std::move(by_ip4), 5s, executor);
  EXPECT_TRUE(client.has_value());
  if (listener->address().family() != AF_INET6) CO_SKIP() << "no IPv6 here";
  auto by_ip6 = Address::ip("::1", port).value();
  auto other = co_await connect(std::move(by_ip6), 5s, executor);
  EXPECT_TRUE(other.has_value());
}

CO_TEST(Listener, LeavesIpv4ToASocketForIt) {
  auto ip4 = Listener::open(executor, Address::parse("0.0.0.0:0").value()).value();
  const std::vector all{ip4->address(), Address::ip("::", ip4->address().port()).value()};
  EXPECT_EQ(any_address(all[1], all), AnyAddress::of_ip6);
  EXPECT_EQ(any_address(all[1], std::span{all}.subspan(1)), AnyAddress::of_both);
  EXPECT_EQ(any_address(Address::parse("[::]:0").value(), std::array{Address::parse("0.0.0.0:0").value()}),
            AnyAddress::of_both);
  auto beside = Listener::open(executor, all[1], any_address(all[1], all));
  if (!beside) CO_SKIP() << "no IPv6 here: " << beside.error().message;
  EXPECT_FALSE(Listener::open(executor, all[1]).has_value()) << "a port that somebody has is never half taken";
  co_return;
}

TEST(Listener, FallsBackToIpv4) {
  test::expect_without(
      [] {
        boost::asio::io_context io;
        const auto listener = Listener::open(io.get_executor(), Address::parse("[::]:0").value());
        ASSERT_TRUE(listener) << listener.error().message;
        EXPECT_EQ((*listener)->address().host(), "0.0.0.0");
        EXPECT_FALSE(Listener::open(io.get_executor(), Address::parse("[::1]:0").value()).has_value());
        EXPECT_FALSE(
            Listener::open(io.get_executor(), Address::parse("[::]:0").value(), AnyAddress::of_ip6).has_value());
      },
      SYS_socket, EAFNOSUPPORT, 0, AF_INET6 & ~AF_INET);
}

CO_TEST(Listener, SaysWhichAddressIsTaken) {
  auto listener = Listener::open(executor, Address::parse("127.0.0.1:0").value()).value();
  auto second = Listener::open(executor, listener->address());
  CO_ASSERT_TRUE(!second.has_value());
  EXPECT_NE(second.error().message.find(listener->address().text()), std::string::npos) << second.error().message;
}

/// The address of a descriptor that this program inherited: it stays open until a listener takes it.
Address inherited_address(UniqueFd socket) {
  return Address::parse("fd:" + std::to_string(socket.release())).value();
}

CO_TEST(Listener, TakesOverAnInheritedUnixSocketAndLeavesItsFile) {
  const test::TemporaryDirectory directory;
  const Address named = Address::parse("unix:" + (directory / "s")).value();
  UniqueFd socket{::socket(AF_UNIX, SOCK_STREAM, 0)};
  CO_ASSERT_TRUE(::bind(socket.get(), named.data(), named.size()) == 0 && ::listen(socket.get(), 8) == 0);
  const Address inherited = inherited_address(std::move(socket));
  {
    auto listener = Listener::open(executor, inherited).value();
    EXPECT_EQ(listener->address().text(), inherited.text());
    // The number is free, or has another file by now, which is closed on exec.
    EXPECT_NE(::fcntl(inherited.descriptor(), F_GETFD), 0) << "a command could inherit it";
    EXPECT_FALSE(Listener::open(executor, inherited).has_value());
    Accepted accepted{executor};
    TaskGroup group{executor};
    group.spawn("accept", listener->accept_all(accepted.taker()));
    auto client = co_await connect(named, 5s, executor);
    EXPECT_TRUE(client.has_value());
    co_await accepted.wait_for(1);
    listener->close();
    co_await group.join();
  }
  struct stat file{};
  EXPECT_EQ(::stat((directory / "s").c_str(), &file), 0);
}

CO_TEST(Listener, TakesOverASocketThatListens) {
  UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  CO_ASSERT_TRUE(::listen(socket.get(), 8) == 0);
  auto listener = Listener::take(executor, std::move(socket)).value();
  Accepted accepted{executor};
  TaskGroup group{executor};
  group.spawn("accept", listener->accept_all(accepted.taker()));
  auto client = co_await connect(Address::ip("127.0.0.1", listener->address().port()).value(), 5s, executor);
  EXPECT_TRUE(client.has_value());
  co_await accepted.wait_for(1);
  listener->close();
  co_await group.join();
  EXPECT_FALSE(Listener::take(executor, UniqueFd{::open("/dev/null", O_RDONLY | O_CLOEXEC)}).has_value());
}

CO_TEST(Listener, RefusesAnInheritedDescriptorThatIsNoListeningUnixStream) {
  UniqueFd silent{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  UniqueFd datagrams{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  UniqueFd tcp{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  CO_ASSERT_TRUE(::listen(tcp.get(), 8) == 0);
  UniqueFd file{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  for (const UniqueFd* one : {&silent, &datagrams, &tcp, &file}) {
    const auto refused = Listener::open(executor, Address::parse("fd:" + std::to_string(one->get())).value());
    CO_ASSERT_TRUE(!refused.has_value());
    EXPECT_THAT(refused.error().message, ::testing::HasSubstr("listen on fd:"));
    EXPECT_GE(::fcntl(one->get(), F_GETFD), 0);
  }
  EXPECT_FALSE(Listener::open(executor, Address::parse("fd:65000").value()).has_value());
  co_return;
}

CO_TEST(Listener, OwnsItsSocketFile) {
  const test::TemporaryDirectory directory;
  const Address address = Address::parse("unix:" + (directory / "s")).value();
  {
    auto listener = Listener::open(executor, address).value();
    EXPECT_EQ(listener->address().path(), directory / "s");
    struct stat file{};
    EXPECT_EQ(::stat((directory / "s").c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777u, 0600u);
    // A server answers on this socket, so its file is kept.
    EXPECT_FALSE(Listener::open(executor, address).has_value());
    Accepted accepted{executor};
    TaskGroup group{executor};
    group.spawn("accept", listener->accept_all(accepted.taker()));
    auto client = co_await connect(address, 5s, executor);
    EXPECT_TRUE(client.has_value());
    co_await accepted.wait_for(1);
    EXPECT_TRUE(accepted.peers[0].is_unix());
    group.cancel();
    co_await group.join();
  }
  EXPECT_NE(::access((directory / "s").c_str(), F_OK), 0);
}

CO_TEST(Listener, LeavesTheFileThatAnotherProcessHasPutInThePlaceOfItsOwn) {
  const test::TemporaryDirectory directory;
  {
    auto listener = Listener::open(executor, Address::parse("unix:" + (directory / "s")).value()).value();
    EXPECT_EQ(::rename(directory.write("other", "precious").c_str(), (directory / "s").c_str()), 0);
  }
  EXPECT_EQ(::access((directory / "s").c_str(), F_OK), 0);
  co_return;
}

CO_TEST(Listener, ReplacesASocketFileOnWhichNobodyAnswers) {
  const test::TemporaryDirectory directory;
  const Address address = Address::parse("unix:" + (directory / "s")).value();
  {
    const UniqueFd killed{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    EXPECT_EQ(::bind(killed.get(), address.data(), address.size()), 0);
  }
  EXPECT_EQ(::access((directory / "s").c_str(), F_OK), 0);
  EXPECT_TRUE(Listener::open(executor, address).has_value());
  // A file of another kind is not deleted.
  directory.write("f", "precious");
  EXPECT_FALSE(Listener::open(executor, Address::parse("unix:" + (directory / "f")).value()).has_value());
  EXPECT_EQ(::access((directory / "f").c_str(), F_OK), 0);
  co_return;
}

// Skip this under UndefinedBehaviorSanitizer, which opens a pipe to check an object's type and takes EMFILE for a
// broken object.
#if !__has_feature(undefined_behavior_sanitizer)

/// Opens all descriptors that the process may still open, under a lowered limit.
class NoDescriptorsLeft {
 public:
  NoDescriptorsLeft() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit low = before_;
    low.rlim_cur = 200;
    ::setrlimit(RLIMIT_NOFILE, &low);
    for (;;) {
      UniqueFd one{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
      if (!one) break;
      taken_.push_back(std::move(one));
    }
  }
  ~NoDescriptorsLeft() {
    taken_.clear();
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  NoDescriptorsLeft(const NoDescriptorsLeft&) = delete;
  NoDescriptorsLeft& operator=(const NoDescriptorsLeft&) = delete;

 private:
  rlimit before_{};
  std::vector<UniqueFd> taken_;
};

CO_TEST(Listener, TurnsClientsAwayWithoutDescriptorsAndGoesOnLater) {
  auto listener = Listener::open(executor, Address::parse("127.0.0.1:0").value()).value();
  Accepted accepted{executor};
  TaskGroup group{executor};
  group.spawn("accept", listener->accept_all(accepted.taker()));
  {
    UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    ::connect(socket.get(), listener->address().data(), listener->address().size());
    Stream client{executor, std::move(socket), "client"};
    const NoDescriptorsLeft none;
    std::array<char, 1> byte{};
    // The client does not hang: it sees the end of the connection, or a reset.
    auto got = co_await client.read_some(byte);
    EXPECT_TRUE(!got || *got == 0);
    EXPECT_TRUE(accepted.sockets.empty());
  }
  auto client = co_await connect(listener->address(), 5s, executor);
  CO_ASSERT_TRUE(client.has_value());
  co_await accepted.wait_for(1);
  group.cancel();
  co_await group.join();
}

#endif

}  // namespace
}  // namespace skiff::protocol
