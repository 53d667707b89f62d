#include "protocol/tls.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/protocol/http_raw_client.hpp"
#include "tests/protocol/test_certificate.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::protocol {
namespace {

using namespace std::chrono_literals;
using test::TestServer;

Task<> echo(HttpExchange& exchange) {
  EXPECT_TRUE(exchange.is_tls());
  auto body = co_await exchange.read_body(64 * 1024 * 1024);
  HttpResponse response;
  if (body) response.body = std::move(*body);
  auto sent = co_await exchange.respond(std::move(response));
  EXPECT_TRUE(sent.has_value());
}

struct Pair {
  test::TemporaryFolder folder;
  test::Certificate certificate = test::make_certificate();
  std::shared_ptr<TlsContext> server =
      TlsContext::server({.certificate_file = folder.write("cert.pem", certificate.certificate_pem),
                          .key_file = folder.write("key.pem", certificate.key_pem)})
          .value();

  [[nodiscard]] HttpClientOptions client(const Address& address, std::string ca, std::string name = {}) const {
    return {.host = "127.0.0.1",
            .port = address.port(),
            .tls = TlsContext::client({.ca_pem = std::move(ca)}).value(),
            .tls_server_name = std::move(name)};
  }
};

CO_TEST(Tls, CarriesBodiesBothWays) {
  const Pair pair;
  TestServer server{executor, echo, {}, pair.server};
  HttpClient client{executor, pair.client(server.address, pair.certificate.certificate_pem)};
  std::string body;
  while (body.size() < 5'000'000) body += std::to_string(body.size());
  for (int i = 0; i < 2; ++i) {
    HttpClient::Request request{.method = "POST", .target = "/", .headers = {}, .body = body};
    auto reply = co_await client.request(std::move(request));
    CO_ASSERT_TRUE(reply.has_value()) << reply.error().message;
    EXPECT_EQ(reply->head.status, 200u);
    EXPECT_TRUE(reply->body == body);
  }
  client.close();
  co_await server.server.stop();
}

CO_TEST(Tls, ChecksTheServersNameToo) {
  const Pair pair;
  TestServer server{executor, echo, {}, pair.server};
  HttpClient named{executor, pair.client(server.address, pair.certificate.certificate_pem, "box.test")};
  auto reply = co_await named.request({});
  EXPECT_TRUE(reply.has_value()) << reply.error().message;
  HttpClient other{executor, pair.client(server.address, pair.certificate.certificate_pem, "other.test")};
  reply = co_await other.request({});
  CO_ASSERT_TRUE(!reply.has_value());
  EXPECT_NE(reply.error().message.find("mismatch"), std::string::npos) << reply.error().message;
  named.close();
  co_await server.server.stop();
}

CO_TEST(Tls, RefusesACertificateOfAnotherAuthority) {
  const Pair pair;
  TestServer server{executor, echo, {}, pair.server};
  HttpClient client{executor, pair.client(server.address, test::make_certificate().certificate_pem)};
  auto reply = co_await client.request({});
  CO_ASSERT_TRUE(!reply.has_value());
  EXPECT_NE(reply.error().message.find("certificate"), std::string::npos) << reply.error().message;
  EXPECT_EQ(reply.error().code, Errc::unauthenticated);
  EXPECT_EQ(server.server.requests(), 0u);
  co_await server.server.stop();
}

CO_TEST(Tls, EndsAHandshakeThatDoesNotCome) {
  const Pair pair;
  TestServer server{executor, echo, {.header_time = 50ms}, pair.server};
  test::RawClient silent = co_await test::dial(executor, server.address);
  EXPECT_EQ(co_await silent.read_all(), "");
  test::RawClient plain = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await plain.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  co_await plain.read_all();
  EXPECT_EQ(server.server.requests(), 0u);
  co_await server.server.stop();
}

TEST(TlsContext, SaysWhichFileIsBad) {
  const test::TemporaryFolder folder;
  const test::Certificate one = test::make_certificate();
  const test::Certificate other = test::make_certificate();
  const std::string certificate = folder.write("cert.pem", one.certificate_pem);
  const std::string key = folder.write("key.pem", other.key_pem);
  EXPECT_NE(TlsContext::server({folder / "none", key}).error().message.find("none"), std::string::npos);
  EXPECT_NE(TlsContext::server({certificate, folder / "none"}).error().message.find("none"), std::string::npos);
  EXPECT_NE(TlsContext::server({certificate, key}).error().message.find("key.pem"), std::string::npos);
  EXPECT_FALSE(TlsContext::client({.ca_pem = "nonsense"}).has_value());
  EXPECT_FALSE(TlsContext::client({.ca_file = folder / "none"}).has_value());
  EXPECT_FALSE(TlsContext::client({.certificate_pem = one.certificate_pem, .key_pem = other.key_pem}).has_value());
  EXPECT_TRUE(TlsContext::client({.certificate_pem = one.certificate_pem, .key_pem = one.key_pem}).has_value());
}

}  // namespace
}  // namespace skiff::protocol
