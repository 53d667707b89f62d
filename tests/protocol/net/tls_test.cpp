#include "protocol/net/tls.hpp"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/async/task_group.hpp"
#include "base/unique_fd.hpp"
#include "tests/protocol/http/raw_client.hpp"
#include "tests/protocol/net/test_certificate.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::protocol {
namespace {

using namespace std::chrono_literals;
using test::TestServer;

Task<> echo_body(HttpExchange& exchange) {
  EXPECT_TRUE(exchange.is_tls());
  auto body = co_await exchange.read_body(64 * 1024 * 1024);
  HttpResponse response;
  if (body) response.body = std::move(*body);
  auto sent = co_await exchange.respond(std::move(response));
  EXPECT_TRUE(sent.has_value());
}

struct TlsPair {
  test::TemporaryDirectory directory;
  test::Certificate certificate = test::make_certificate();
  std::shared_ptr<TlsContext> server =
      TlsContext::server({.certificate_file = directory.write("cert.pem", certificate.certificate_pem),
                          .key_file = directory.write("key.pem", certificate.key_pem)})
          .value();

  [[nodiscard]] HttpClientOptions client(const Address& address, std::string ca, std::string name = {}) const {
    return {.host = "127.0.0.1",
            .port = address.port(),
            .tls = TlsContext::client({.ca_pem = std::move(ca)}).value(),
            .tls_server_name = std::move(name)};
  }
};

CO_TEST(Tls, CarriesBodiesBothWays) {
  const TlsPair pair;
  TestServer server{executor, echo_body, {}, pair.server};
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
  const TlsPair pair;
  TestServer server{executor, echo_body, {}, pair.server};
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
  const TlsPair pair;
  TestServer server{executor, echo_body, {}, pair.server};
  HttpClient client{executor, pair.client(server.address, test::make_certificate().certificate_pem)};
  auto reply = co_await client.request({});
  CO_ASSERT_TRUE(!reply.has_value());
  EXPECT_NE(reply.error().message.find("certificate"), std::string::npos) << reply.error().message;
  EXPECT_EQ(reply.error().code, Errc::unauthenticated);
  EXPECT_EQ(server.server.requests(), 0u);
  co_await server.server.stop();
}

CO_TEST(Tls, EndsAHandshakeAtItsTimeLimit) {
  const TlsPair pair;
  TestServer server{executor, echo_body, {.header_time = 50ms}, pair.server};
  test::RawClient silent = co_await test::dial(executor, server.address);
  EXPECT_EQ(co_await silent.read_all(), "");
  test::RawClient plain = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await plain.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  co_await plain.read_all();
  EXPECT_EQ(server.server.requests(), 0u);
  co_await server.server.stop();
}

/// Returns the cipher that OpenSSL with its defaults, and with these of TLS 1.2 unless there are none, agrees on with
/// `ours`; empty: they can't connect.
std::string agreed(TlsContext& ours, bool ours_connects, const char* ciphers, const test::Certificate& certificate) {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets.data()) != 0) return {};
  const UniqueFd near{sockets[0]};
  const UniqueFd far{sockets[1]};
  const test::TemporaryDirectory directory;
  SSL_CTX* context = SSL_CTX_new(ours_connects ? TLS_server_method() : TLS_client_method());
  if (ciphers != nullptr) {
    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
    EXPECT_EQ(SSL_CTX_set_cipher_list(context, ciphers), 1);
  }
  if (ours_connects) {
    SSL_CTX_use_certificate_file(context, directory.write("cert", certificate.certificate_pem).c_str(),
                                 SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(context, directory.write("key", certificate.key_pem).c_str(), SSL_FILETYPE_PEM);
  }
  SSL* theirs = SSL_new(context);
  SSL_set_fd(theirs, far.get());
  auto session = ours.session(near.get(), ours_connects ? "box.test" : "").value();
  bool mine = false;
  bool yours = false;
  bool failed = false;
  while (!failed && (!mine || !yours)) {
    const auto step = session->handshake().kind;
    mine = step == IoStep::Kind::done;
    const int result = ours_connects ? SSL_accept(theirs) : SSL_connect(theirs);
    yours = result == 1;
    const int error = SSL_get_error(theirs, result);
    failed = step == IoStep::Kind::failed || step == IoStep::Kind::end ||
             (!yours && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE);
  }
  ERR_clear_error();
  const std::string name = failed ? "" : SSL_get_cipher_name(theirs);
  SSL_free(theirs);
  SSL_CTX_free(context);
  return name;
}

/// Servers of OpenSSL with one context, which their clients can come back to.
class Resumable {
 public:
  explicit Resumable(const test::Certificate& certificate) : context_{SSL_CTX_new(TLS_server_method()), &SSL_CTX_free} {
    const test::TemporaryDirectory directory;
    SSL_CTX_use_certificate_file(context_.get(), directory.write("cert", certificate.certificate_pem).c_str(),
                                 SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(context_.get(), directory.write("key", certificate.key_pem).c_str(), SSL_FILETYPE_PEM);
  }

  /// Whether a new connection of this client goes on with an earlier one; nullopt: it fails.
  std::optional<bool> resumed(TlsContext& client, const std::string& name) {
    std::array<int, 2> sockets{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets.data()) != 0) return std::nullopt;
    const UniqueFd near{sockets[0]};
    const UniqueFd far{sockets[1]};
    const std::unique_ptr<SSL, decltype(&SSL_free)> theirs{SSL_new(context_.get()), &SSL_free};
    SSL_set_fd(theirs.get(), far.get());
    auto session = client.session(near.get(), name).value();
    bool mine = false;
    bool yours = false;
    for (int step = 0; step < 20 && (!mine || !yours); ++step) {
      mine = session->handshake().kind == IoStep::Kind::done;
      yours = SSL_accept(theirs.get()) == 1;
    }
    ERR_clear_error();
    if (!mine || !yours) return std::nullopt;
    // The tickets come with the first bytes.
    SSL_write(theirs.get(), "x", 1);
    std::array<char, 8> into{};
    EXPECT_EQ(session->read(into).bytes, 1u);
    return SSL_session_reused(theirs.get()) == 1;
  }

 private:
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
};

TEST(TlsContext, AClientGoesOnWithItsLastConnectionToThatServerIfItShould) {
  const auto certificate = test::make_certificate();
  Resumable servers{certificate};
  const auto resuming = TlsContext::client({.ca_pem = certificate.certificate_pem, .resumes = true}).value();
  EXPECT_EQ(servers.resumed(*resuming, "box.test"), false);
  EXPECT_EQ(servers.resumed(*resuming, "box.test"), true);
  EXPECT_EQ(servers.resumed(*resuming, "box.test"), true);
  // Another name is another server, whose certificate is verified.
  EXPECT_EQ(servers.resumed(*resuming, "other.test"), std::nullopt);
  const auto plain = TlsContext::client({.ca_pem = certificate.certificate_pem}).value();
  EXPECT_EQ(servers.resumed(*plain, "box.test"), false);
  EXPECT_EQ(servers.resumed(*plain, "box.test"), false);
}

TEST(TlsContext, TakesOnlyCiphersWithForwardSecrecyOnBothSides) {
  const test::TemporaryDirectory directory;
  const test::Certificate certificate = test::make_certificate(EVP_RSA_gen(2048));
  const auto server = TlsContext::server({.certificate_file = directory.write("cert.pem", certificate.certificate_pem),
                                          .key_file = directory.write("key.pem", certificate.key_pem)})
                          .value();
  const auto client = TlsContext::client({.ca_pem = certificate.certificate_pem}).value();
  for (const char* cipher :
       {"ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305"}) {
    EXPECT_EQ(agreed(*server, false, cipher, certificate), cipher);
    EXPECT_EQ(agreed(*client, true, cipher, certificate), cipher);
  }
  for (const char* cipher : {"AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES256-SHA256", "ECDHE-RSA-AES256-SHA384"}) {
    EXPECT_EQ(agreed(*server, false, cipher, certificate), "") << cipher;
    EXPECT_EQ(agreed(*client, true, cipher, certificate), "") << cipher;
  }
}

TEST(TlsContext, PrefersTheFastestCipher) {
  const test::TemporaryDirectory directory;
  const test::Certificate certificate = test::make_certificate();
  const auto server = TlsContext::server({.certificate_file = directory.write("cert.pem", certificate.certificate_pem),
                                          .key_file = directory.write("key.pem", certificate.key_pem)})
                          .value();
  const auto client = TlsContext::client({.ca_pem = certificate.certificate_pem}).value();
  for (const bool connects : {false, true}) {
    TlsContext& ours = connects ? *client : *server;
    EXPECT_EQ(agreed(ours, connects, nullptr, certificate), "TLS_AES_128_GCM_SHA256");
    EXPECT_EQ(agreed(ours, connects, "HIGH", certificate), "ECDHE-ECDSA-AES128-GCM-SHA256");
  }
}

/// Both ends of a TLS connection after the handshake, with no bytes in flight.
struct Joined {
  explicit Joined(const TlsPair& pair) {
    std::array<int, 2> sockets{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets.data()), 0);
    near.reset(sockets[0]);
    far.reset(sockets[1]);
    ours = pair.server->session(near.get(), {}).value();
    theirs = TlsContext::client({.ca_pem = pair.certificate.certificate_pem})
                 .value()
                 ->session(far.get(), "127.0.0.1")
                 .value();
    bool done = false;
    while (!done) {
      const bool first = theirs->handshake().kind == IoStep::Kind::done;
      const bool second = ours->handshake().kind == IoStep::Kind::done;
      done = first && second;
    }
    std::array<char, 100> none{};
    EXPECT_EQ(theirs->read(none).kind, IoStep::Kind::want_read);  // reads the session tickets
  }
  UniqueFd near;
  UniqueFd far;
  std::unique_ptr<TlsSession> ours;
  std::unique_ptr<TlsSession> theirs;
};

/// The sizes of the records that wait on a socket, without their overhead.
std::vector<std::size_t> records_on(int socket) {
  std::string bytes(1 << 20U, '\0');
  const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  std::vector<std::size_t> sizes;
  constexpr std::size_t kHeader = 5;
  constexpr std::size_t kTypeAndTag = 17;
  for (std::size_t at = 0; at + kHeader <= bytes.size();) {
    const std::size_t length =
        static_cast<unsigned char>(bytes[at + 3]) * 256U + static_cast<unsigned char>(bytes[at + 4]);
    sizes.push_back(length - kTypeAndTag);
    at += kHeader + length;
  }
  return sizes;
}

/// Requests for another ClientHello, which a client passes over without an answer.
std::string hello_requests(std::size_t records) {
  constexpr std::size_t kRecord = 16384;
  std::string all;
  for (std::size_t i = 0; i < records; ++i) all += std::string{"\x16\x03\x03\x40\x00", 5} + std::string(kRecord, '\0');
  return all;
}

TEST(TlsSession, OneCallTakesAFewRecordsOfMessagesWithoutData) {
  std::array<int, 2> sockets{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets.data()), 0);
  const UniqueFd ours{sockets[0]};
  const UniqueFd theirs{sockets[1]};
  const std::string flood = hello_requests(10);
  ASSERT_EQ(::send(theirs.get(), flood.data(), flood.size(), 0), std::ssize(flood));
  const auto session =
      TlsContext::client({.insecure_skip_verify = true}).value()->session(ours.get(), "box.test").value();
  EXPECT_EQ(session->handshake().kind, IoStep::Kind::want_read);
  int left = 0;
  ASSERT_EQ(::ioctl(ours.get(), FIONREAD, &left), 0);
  EXPECT_GE(left, std::ssize(flood) / 2);
  EXPECT_LT(left, std::ssize(flood));
}

CO_TEST(Tls, EndsAHandshakeOfWhichThePeerNeverStopsSending) {
  std::array<int, 2> sockets{};
  CO_ASSERT_TRUE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets.data()) == 0);
  Stream theirs{executor, UniqueFd{sockets[1]}, "server"};
  TaskGroup tasks{executor};
  tasks.spawn("flood", [](Stream* to) -> Task<> {
    const std::string flood = hello_requests(4);
    const std::array<std::string_view, 1> parts{flood};
    while (co_await to->write(parts, 5s)) continue;
  }(&theirs));
  {
    Stream ours{executor, UniqueFd{sockets[0]}, "client"};
    ours.secure(TlsContext::client({.insecure_skip_verify = true}).value()->session(ours.fd(), "box.test").value());
    const auto done = co_await ours.handshake(50ms);
    CO_ASSERT_TRUE(!done.has_value());
    EXPECT_EQ(done.error().code, Errc::timeout) << done.error().message;
  }
  co_await tasks.join();
}

CO_TEST(Tls, PutsSmallPartsIntoOneRecord) {
  const TlsPair pair;
  Joined joined{pair};
  Stream stream{executor, std::move(joined.near), "near", std::move(joined.ours)};
  const std::string large(40'000, 'l');
  using Sizes = std::vector<std::size_t>;
  const std::vector<std::pair<std::vector<std::string_view>, Sizes>> cases{
      {{"HTTP/1.1 200 OK\r\n\r\n"}, {19}},
      {{"5\r\n", "", "hello", "\r\n"}, {10}},
      {{"9c40\r\n", large, "\r\n"}, {16'384, 16'384, 7'240}},
      {{large, large}, {16'384, 16'384, 16'384, 16'384, 14'464}},
  };
  for (const auto& [parts, sizes] : cases) {
    auto sent = co_await stream.write(parts);
    EXPECT_TRUE(sent.has_value());
    EXPECT_EQ(records_on(joined.far.get()), sizes);
  }
}

CO_TEST(Tls, KnowsOfBytesThatCameWithTheEndOfTheHandshake) {
  const TlsPair pair;
  std::array<int, 2> sockets{};
  CO_ASSERT_TRUE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets.data()) == 0);
  Stream server{executor, UniqueFd{sockets[0]}, "near", pair.server->session(sockets[0], {}).value()};
  const UniqueFd far{sockets[1]};
  auto client =
      TlsContext::client({.ca_pem = pair.certificate.certificate_pem}).value()->session(far.get(), "127.0.0.1");
  EXPECT_EQ((*client)->handshake().kind, IoStep::Kind::want_read);
  std::array<char, 1> first{};
  EXPECT_FALSE(server.try_read(first).has_value());  // answers the first flight
  // The second flight and the first bytes wait together.
  EXPECT_EQ((*client)->handshake().kind, IoStep::Kind::done);
  EXPECT_EQ((*client)->write("hello").bytes, 5U);
  EXPECT_TRUE((co_await server.handshake(1s)).has_value());
  EXPECT_TRUE((co_await server.readable(10s)).has_value());
  std::array<char, 100> into{};
  auto got = server.try_read(into);
  CO_ASSERT_TRUE(got && got->has_value());
  EXPECT_EQ(**got, 5U);
}

CO_TEST(Tls, ReadsWhatHasComeAndThenTheEnd) {
  const TlsPair pair;
  Joined joined{pair};
  std::string sent(40'000, 'x');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>('a' + i % 26);
  EXPECT_EQ(joined.theirs->write(sent).bytes, sent.size());
  joined.theirs->shutdown();
  joined.far.reset();
  std::string got(100'000, '\0');
  const auto step = joined.ours->read(got);
  EXPECT_EQ(step.kind, IoStep::Kind::done);
  EXPECT_EQ(got.substr(0, step.bytes), sent);
  EXPECT_TRUE(joined.ours->pending());
  EXPECT_EQ(joined.ours->read(got).kind, IoStep::Kind::end);
  EXPECT_EQ(joined.ours->read(got).kind, IoStep::Kind::end);
  co_return;
}

TEST(TlsSession, ReadsEndAtTheEndsOfRecords) {
  const TlsPair pair;
  Joined joined{pair};
  const std::string full(4 * kTlsRecord, 'f');
  EXPECT_EQ(joined.theirs->write("a head").bytes, 6U);
  EXPECT_EQ(joined.theirs->write(full).bytes, full.size());
  std::string into(full.size(), '\0');
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(joined.theirs->write(full).bytes, full.size());
    EXPECT_EQ(joined.ours->read(into).kind, IoStep::Kind::done);
  }
  const std::vector<std::size_t> left = records_on(joined.near.get());
  EXPECT_FALSE(left.empty());
  EXPECT_EQ(left, std::vector<std::size_t>(left.size(), kTlsRecord));
}

CO_TEST(Tls, TakesTheRestOfAWriteInSmallerPieces) {
  const TlsPair pair;
  Joined joined{pair};
  const int small = 4096;
  ::setsockopt(joined.near.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  std::string sent(300'000, 'x');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>('a' + i / 1000 % 26);
  std::string got;
  std::string block(100'000, '\0');
  // As a WebSocket does: all that there is, and after a full socket one record.
  for (std::size_t at = 0, most = sent.size(); got.size() < sent.size();) {
    const auto step = at < sent.size() ? joined.ours->write(std::string_view{sent}.substr(at, most)) : IoStep{};
    CO_ASSERT_TRUE(step.kind != IoStep::Kind::failed && step.bytes <= most);
    at += step.bytes;
    most = step.kind == IoStep::Kind::want_write ? kTlsRecord : sent.size();
    const auto read = joined.theirs->read(block);
    got += block.substr(0, read.bytes);
  }
  EXPECT_TRUE(got == sent);
  co_return;
}

CO_TEST(Tls, WaitsForTheRestOfARecord) {
  const TlsPair pair;
  Joined joined{pair};
  EXPECT_EQ(joined.theirs->write("hello").bytes, 5U);
  std::array<char, 1000> record{};
  const ssize_t size = ::recv(joined.near.get(), record.data(), record.size(), 0);
  CO_ASSERT_TRUE(size > 8);
  ::send(joined.far.get(), record.data(), 8, 0);
  std::array<char, 100> into{};
  EXPECT_EQ(joined.ours->read(into).kind, IoStep::Kind::want_read);
  EXPECT_FALSE(joined.ours->pending());
  ::send(joined.far.get(), record.data() + 8, static_cast<std::size_t>(size) - 8, 0);
  EXPECT_EQ(joined.ours->read(into).bytes, 5U);
  EXPECT_FALSE(joined.ours->pending());
  co_return;
}

Task<> write_all_of(Stream* stream, const std::vector<std::string_view>* parts) {
  auto sent = co_await stream->write(*parts);
  EXPECT_TRUE(sent.has_value());
}

CO_TEST(Tls, SendsEverythingInOrderThroughASocketThatIsFull) {
  const TlsPair pair;
  Joined joined{pair};
  const int small = 4096;
  ::setsockopt(joined.near.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  Stream stream{executor, std::move(joined.near), "near", std::move(joined.ours)};
  Stream peer{executor, std::move(joined.far), "far", std::move(joined.theirs)};
  std::vector<std::string> texts;
  std::string all;
  for (std::size_t i = 0; i < 1500; ++i) {
    texts.push_back(std::string(i % 100 == 0 ? 30'000 : i % 50, static_cast<char>('a' + i % 26)));
    all += texts.back();
  }
  const std::vector<std::string_view> parts{texts.begin(), texts.end()};
  TaskGroup group{executor};
  group.spawn("writer", write_all_of(&stream, &parts));
  test::RawClient reader{std::move(peer)};
  EXPECT_TRUE(co_await reader.read_bytes(all.size()) == all);
  co_await group.join();
}

TEST(TlsContext, NamesTheInvalidFile) {
  const test::TemporaryDirectory directory;
  const test::Certificate one = test::make_certificate();
  const test::Certificate other = test::make_certificate();
  const std::string certificate = directory.write("cert.pem", one.certificate_pem);
  const std::string key = directory.write("key.pem", other.key_pem);
  EXPECT_NE(TlsContext::server({directory / "none", key}).error().message.find("none"), std::string::npos);
  EXPECT_NE(TlsContext::server({certificate, directory / "none"}).error().message.find("none"), std::string::npos);
  EXPECT_NE(TlsContext::server({certificate, key}).error().message.find("key.pem"), std::string::npos);
  EXPECT_FALSE(TlsContext::client({.ca_pem = "nonsense"}).has_value());
  EXPECT_FALSE(TlsContext::client({.ca_file = directory / "none"}).has_value());
  EXPECT_FALSE(TlsContext::client({.certificate_pem = one.certificate_pem, .key_pem = other.key_pem}).has_value());
  EXPECT_TRUE(TlsContext::client({.certificate_pem = one.certificate_pem, .key_pem = one.key_pem}).has_value());
}

}  // namespace
}  // namespace skiff::protocol
