#include "runtime/health.hpp"

#include <cstdio>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "protocol/http/client.hpp"
#include "protocol/net/address.hpp"

namespace skiff::runtime {
namespace {

constexpr std::chrono::milliseconds kPatience{2000};

Task<> ask(protocol::HttpClientOptions options, Result<protocol::HttpReply>* reply) {
  protocol::HttpClient client{co_await boost::asio::this_coro::executor, std::move(options)};
  protocol::HttpClient::Request request{.target = "/healthz"};
  *reply = co_await client.request(std::move(request), std::size_t{64} << 10U);
}

/// The addresses to try: a machine need not have both IPv4 and IPv6.
std::vector<std::string> hosts_of(const protocol::Address& address) {
  if (!address.is_any()) return {address.host()};
  if (address.family() == AF_INET) return {"127.0.0.1"};
  return {"::1", "127.0.0.1"};
}

}  // namespace

int check_health(const Settings& settings) {
  const std::string& where = settings.listen.front();
  const auto address = protocol::Address::parse(where);
  if (!address) {
    std::fprintf(stderr, "skiffd health: %s\n", address.error().message.c_str());
    return 1;
  }
  if (address->descriptor() >= 0) {
    std::fprintf(stderr, "skiffd health: %s: only the agent that has inherited this socket knows it\n", where.c_str());
    return 1;
  }
  protocol::HttpClientOptions options{.host = {}, .connect_time = kPatience, .idle_time = kPatience};
  if (address->is_unix()) {
    options.unix_path = address->path();
  } else {
    options.port = address->port();
    if (!settings.tls_cert.empty()) {
      // Do not verify the certificate: the agent is in the same container, and its certificate is for the names that
      // clients use.
      protocol::TlsClientSettings trust;
      trust.insecure_skip_verify = true;
      auto tls = protocol::TlsContext::client(trust);
      if (!tls) {
        std::fprintf(stderr, "skiffd health: %s\n", tls.error().message.c_str());
        return 1;
      }
      options.tls = std::move(*tls);
    }
  }
  Result<protocol::HttpReply> reply = fail(Errc::internal, "no answer");
  for (std::string& host : hosts_of(*address)) {
    options.host = std::move(host);
    boost::asio::io_context io;
    boost::asio::co_spawn(io.get_executor(), ask(options, &reply), boost::asio::detached);
    io.run();
    if (reply || reply.error().code == Errc::timeout) break;
  }
  if (!reply) {
    std::fprintf(stderr, "skiffd health: %s: %s\n", where.c_str(), reply.error().message.c_str());
    return 1;
  }
  if (reply->head.status != 200) {
    std::fprintf(stderr, "skiffd health: %s answered %u\n", where.c_str(), reply->head.status);
    return 1;
  }
  std::puts("ok");
  return 0;
}

}  // namespace skiff::runtime
