#include "container/egress/terminate/authority.hpp"

#include <sys/socket.h>

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "base/unique_fd.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::container::egress {
namespace {

TEST(Authority, SignsForItsHostsAlone) {
  auto made = Authority::create({"github.com", "api.example.com"});
  ASSERT_TRUE(made);
  EXPECT_TRUE((*made)->pem().starts_with("-----BEGIN CERTIFICATE-----\n"));
  EXPECT_FALSE((*made)->pem().contains("KEY"));
  EXPECT_EQ((*made)->server("evil.org").error().code, Errc::not_found);
  EXPECT_EQ((*made)->server("sub.github.com").error().code, Errc::not_found);
  const auto first = (*made)->server("github.com");
  ASSERT_TRUE(first);
  EXPECT_EQ(*first, *(*made)->server("github.com"));
  EXPECT_NE(*first, *(*made)->server("api.example.com"));
}

TEST(Authority, IsAnotherOneForEachSandbox) {
  EXPECT_NE((*Authority::create({"a.org"}))->pem(), (*Authority::create({"a.org"}))->pem());
}

/// Whether a client that trusts this authority takes a server's context for that host.
bool is_trusted(const std::string& ca_pem, protocol::TlsContext& server, const std::string& host) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  const std::array sockets{UniqueFd{ends[0]}, UniqueFd{ends[1]}};
  const auto trusting = protocol::TlsContext::client({.ca_pem = ca_pem}).value();
  const auto client = trusting->session(sockets[0].get(), host).value();
  const auto other = server.session(sockets[1].get(), {}).value();
  using Kind = protocol::IoStep::Kind;
  for (;;) {
    const Kind ours = client->handshake().kind;
    if (ours == Kind::done || ours == Kind::failed) return ours == Kind::done;
    (void)other->handshake();
  }
}

TEST(Authority, AThiefOfItsKeySignsForItsHostsAlone) {
  const auto made = *Authority::create({"a.org"});
  const auto stolen = *Authority::load(made->pem(), made->key_pem(), {"a.org", "evil.org", "sub.evil.org"});
  EXPECT_TRUE(is_trusted(made->pem(), **stolen->server("a.org"), "a.org"));
  EXPECT_FALSE(is_trusted(made->pem(), **stolen->server("evil.org"), "evil.org"));
  EXPECT_FALSE(is_trusted(made->pem(), **stolen->server("sub.evil.org"), "sub.evil.org"));
  EXPECT_FALSE(is_trusted(made->pem(), **stolen->server("a.org"), "b.org"));
}

TEST(Authority, IsLoadedWithItsKey) {
  const auto made = *Authority::create({"a.org"});
  auto loaded = Authority::load(made->pem(), made->key_pem(), {"a.org"});
  ASSERT_TRUE(loaded);
  EXPECT_EQ((*loaded)->pem(), made->pem());
  EXPECT_TRUE((*loaded)->server("a.org"));
  EXPECT_EQ((*loaded)->server("b.org").error().code, Errc::not_found);
  const auto other = *Authority::create({"a.org"});
  EXPECT_FALSE(Authority::load(made->pem(), other->key_pem(), {"a.org"}));
  EXPECT_FALSE(Authority::load(made->key_pem(), made->pem(), {"a.org"}));
  EXPECT_FALSE(Authority::load("", "", {"a.org"}));
}

}  // namespace
}  // namespace skiff::container::egress
