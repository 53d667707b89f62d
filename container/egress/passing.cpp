#include "container/egress/passing.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/http/forward.hpp"

namespace skiff::container::egress {
namespace {

/// Its name in Via, which a proxy must add (RFC 9110, 7.6.3).
constexpr std::string_view kVia = "skiff-egress";

Task<Result<protocol::Stream>> give(std::shared_ptr<protocol::Stream> connection) {
  co_return std::move(*connection);
}

}  // namespace

bool asks_for_websocket(const protocol::HttpRequest& request) {
  return request.headers.has_token("Upgrade", "websocket");
}

protocol::Headers fields_for_server(const protocol::HttpRequest& request, bool with_websocket) {
  protocol::Headers fields =
      protocol::forwarded_request(request, {.name = kVia, .peer = {}, .scheme = {}, .prefix = {}, .first = true});
  std::vector<std::string> dropped{"Upgrade", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"};
  for (const auto [name, value] : fields) {
    if (protocol::same_text(name.substr(0, 6), "proxy-")) dropped.emplace_back(name);
  }
  for (const std::string& name : dropped) fields.remove(name);
  // With a body, what follows the head would have two readings.
  const bool upgrades = with_websocket && request.body.kind == protocol::BodyFraming::Kind::none &&
                        asks_for_websocket(request) && fields.has_token("Connection", "Upgrade");
  fields.remove("Connection");
  if (!upgrades) return fields;
  fields.set("Connection", "Upgrade");
  fields.set("Upgrade", "websocket");
  return fields;
}

protocol::HttpClientOptions server_options(const Target& target, protocol::Stream connected) {
  return {.host = target.host,
          .port = target.port,
          .dial = [stream = std::make_shared<protocol::Stream>(std::move(connected))](
                      std::chrono::milliseconds) { return give(stream); },
          .idle_time = kNoProgress,
          .read_idle_time = protocol::kForever,
          .bare_feeds = true};
}

std::optional<Refusal> refusal_of(const Error& error) {
  switch (error.code) {
    case Errc::cancelled:
      return std::nullopt;
    case Errc::invalid_request:
      return Refusal{400, "bad_request", error.message};
    case Errc::request_timeout:
      return Refusal{408, "timeout", error.message};
    case Errc::timeout:
      return Refusal{504, "timeout", error.message};
    default:
      return Refusal{502, "bad_answer", error.message};
  }
}

}  // namespace skiff::container::egress
