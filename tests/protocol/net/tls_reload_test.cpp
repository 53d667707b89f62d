#include "protocol/net/tls_reload.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/protocol/http/raw_client.hpp"
#include "tests/protocol/net/test_certificate.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::protocol {
namespace {

using test::TestServer;

Task<> answer(HttpExchange& exchange) {
  auto sent = co_await exchange.respond({.status = 200, .headers = {}, .body = "hello"});
  EXPECT_TRUE(sent.has_value());
}

HttpClientOptions trusting(const Address& address, const test::Certificate& certificate) {
  return {.host = "127.0.0.1",
          .port = address.port(),
          .tls = TlsContext::client({.ca_pem = certificate.certificate_pem}).value()};
}

CO_TEST(ReloadableTls, NewConnectionsGetTheNewCertificateAndOpenOnesGoOn) {
  const test::TemporaryDirectory directory;
  const test::Certificate first = test::make_certificate();
  const test::Certificate second = test::make_certificate();
  const TlsServerSettings files{.certificate_file = directory.write("cert.pem", first.certificate_pem),
                                .key_file = directory.write("key.pem", first.key_pem)};
  auto tls = ReloadableTls::open(files);
  CO_ASSERT_TRUE(tls) << tls.error().message;
  EXPECT_EQ((*tls)->reload().value(), ReloadableTls::Outcome::unchanged);

  TestServer server{executor, answer, {}, *tls};
  HttpClient early{executor, trusting(server.address, first)};
  CO_ASSERT_TRUE((co_await early.request({})).has_value());

  directory.write("cert.pem", second.certificate_pem);
  directory.write("key.pem", second.key_pem);
  EXPECT_EQ((*tls)->reload().value(), ReloadableTls::Outcome::changed);
  CO_ASSERT_TRUE((co_await early.request({})).has_value());
  HttpClient late{executor, trusting(server.address, second)};
  auto reply = co_await late.request({});
  CO_ASSERT_TRUE(reply.has_value()) << reply.error().message;
  HttpClient stale{executor, trusting(server.address, first)};
  EXPECT_FALSE((co_await stale.request({})).has_value());
  early.close();
  late.close();
  co_await server.server.stop();
}

CO_TEST(ReloadableTls, ABadCertificateChangesNothingAndIsToldOnce) {
  const test::TemporaryDirectory directory;
  const test::Certificate good = test::make_certificate();
  const TlsServerSettings files{.certificate_file = directory.write("cert.pem", good.certificate_pem),
                                .key_file = directory.write("key.pem", good.key_pem)};
  auto tls = ReloadableTls::open(files);
  CO_ASSERT_TRUE(tls);
  directory.write("key.pem", test::make_certificate().key_pem);
  const auto refused = (*tls)->reload();
  CO_ASSERT_TRUE(!refused);
  EXPECT_NE(refused.error().message.find("key.pem"), std::string::npos);
  EXPECT_EQ((*tls)->reload().value(), ReloadableTls::Outcome::unchanged);

  TestServer server{executor, answer, {}, *tls};
  HttpClient client{executor, trusting(server.address, good)};
  EXPECT_TRUE((co_await client.request({})).has_value());
  client.close();
  co_await server.server.stop();
}

TEST(ReloadableTls, FilesThatAreBadFromTheStartAreAnError) {
  const test::TemporaryDirectory directory;
  EXPECT_FALSE(ReloadableTls::open({directory / "none", directory / "none"}).has_value());
}

}  // namespace
}  // namespace skiff::protocol
