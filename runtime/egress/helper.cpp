#include "runtime/egress/helper.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/scope_counter.hpp"
#include "base/small_file.hpp"
#include "protocol/http/client.hpp"

namespace skiff::runtime::egress {
namespace {

constexpr std::chrono::milliseconds kConnectTime{5'000};
constexpr std::string_view kGreeting = "SKIFF-EGRESS/1 ";
constexpr std::size_t kLongestToken = 2000;
constexpr std::string_view kNoProxy =
    "HTTP/1.1 503 Service Unavailable\r\nX-Skiff-Egress: no_proxy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
constexpr std::string_view kTooMany =
    "HTTP/1.1 503 Service Unavailable\r\nX-Skiff-Egress: too_many_connections\r\nConnection: close\r\nContent-Length: "
    "0\r\n\r\n";

/// Connections beyond the most that hear so at the same time.
constexpr std::size_t kAnswered = 64;
/// The time in which the proxy has looked a name up and connected to it, or has given up.
constexpr std::chrono::milliseconds kOpeningTime{30'000};
constexpr unsigned kOk = 200;
constexpr unsigned kForbidden = 403;
/// Fatal alerts of TLS (RFC 8446, 6): `access_denied` and `internal_error`.
constexpr std::string_view kDenied{"\x15\x03\x01\x00\x02\x02\x31", 7};
constexpr std::string_view kFailed{"\x15\x03\x01\x00\x02\x02\x50", 7};

Task<> answer(protocol::Stream* client, std::string_view text) {
  const std::array<std::string_view, 1> parts{text};
  (void)co_await client->write(parts, kConnectTime);
  client->shutdown_write();
  // A connection that is closed with unread bytes is reset, and the answer may be lost.
  std::array<char, 4096> rest{};
  (void)co_await client->read_some(rest, kConnectTime);
}

}  // namespace

void set_variables(sessions::Variables& variables) {
  const std::string url = std::string{"http://"} + kAddress;
  for (const char* name : {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}) {
    variables.try_emplace(name, url);
  }
  for (const char* name : {"NO_PROXY", "no_proxy"}) variables.try_emplace(name, "localhost,127.0.0.1,::1");
  variables.try_emplace("NODE_USE_ENV_PROXY", "1");
}

bool Helper::is_token(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kLongestToken &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

void Helper::use_token(std::string token) {
  wipe(preamble_);
  preamble_ = std::string{kGreeting}.append(token).append("\r\n");
  wipe(token);
}

Helper::Helper(Executor executor, protocol::Address proxy, protocol::TunnelLimits limits, const Fence* fence)
    : executor_{executor}, proxy_{std::move(proxy)}, limits_{limits}, fence_{fence}, tasks_{executor} {}

void Helper::listen(std::shared_ptr<protocol::Listener> listener) {
  listener_ = std::move(listener);
  tasks_.spawn("egress helper", accept(this));
}

Task<> Helper::accept(Helper* self) {
  const std::shared_ptr<protocol::Listener> listener = self->listener_;
  co_await listener->accept_all([self](UniqueFd socket, const protocol::Address& peer) {
    self->tasks_.spawn(
        "egress connection",
        carry(self, protocol::Stream{self->executor_, std::move(socket), peer.text()}, self->connections_));
  });
}

Task<> Helper::carry(Helper* self, protocol::Stream client, std::size_t before) {
  // To answer all of them would have no bound.
  if (before >= kConnections + kAnswered) co_return;
  const ScopeCounter counted{self->connections_};
  if (before >= kConnections) {
    co_await answer(&client, kTooMany);
    co_return;
  }
  auto upstream = co_await self->reach();
  if (!upstream) {
    co_await answer(&client, kNoProxy);
    co_return;
  }
  co_await protocol::tunnel(&client, &*upstream, self->limits_);
}

Task<> Helper::carry_to(protocol::Stream client, std::string target) {
  // To answer those, too, would have no bound.
  if (connections_ >= kConnections) co_return;
  const ScopeCounter counted{connections_};
  protocol::HttpClient proxy{executor_,
                             {.host = "skiff-egress",
                              .port = 80,
                              .dial = [this](std::chrono::milliseconds) { return reach(); },
                              .idle_time = kOpeningTime}};
  const auto head = co_await proxy.open({.method = "CONNECT", .target = std::move(target)});
  if (!head || head->status != kOk) {
    co_await answer(&client, head && head->status == kForbidden ? kDenied : kFailed);
    co_return;
  }
  // The proxy waits for the client's first bytes, so it has sent none yet.
  protocol::Stream upstream = std::move(proxy.take_upgraded().stream);
  co_await protocol::tunnel(&client, &upstream, limits_);
}

Task<Result<protocol::Stream>> Helper::reach() const {
  if (fence_ != nullptr && fence_->state() == Fence::State::waiting) {
    co_return fail(Errc::egress_waiting, fence_->why());
  }
  if (proxy_.text() != kAddress && preamble_.empty()) {
    co_return fail(Errc::unauthenticated, "the egress token has not come yet");
  }
  SKIFF_CO_TRY(auto upstream, co_await protocol::connect(proxy_, kConnectTime, executor_));
  if (!preamble_.empty()) {
    const std::string preamble = preamble_;
    const std::array<std::string_view, 1> parts{preamble};
    SKIFF_CO_TRY_VOID(co_await upstream.write(parts, kConnectTime));
  }
  co_return upstream;
}

Task<> Helper::stop() {
  if (listener_) listener_->close();
  tasks_.cancel();
  co_await tasks_.join();
}

}  // namespace skiff::runtime::egress
