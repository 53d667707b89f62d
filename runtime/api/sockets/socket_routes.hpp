#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>

#include "runtime/api/call.hpp"
#include "runtime/api/requests.hpp"

/// Handlers of the WebSocket routes. Each checks what can be checked before the upgrade, so that a client gets a status
/// and a problem document for it; what goes wrong later is an `error` event or a close code.
namespace skiff::runtime::api {

/// Close codes of our own (RFC 6455 section 7.4.2).
inline constexpr std::uint16_t kClosedSessionDeleted = 4004;
inline constexpr std::uint16_t kClosedTooSlow = 4008;
inline constexpr std::uint16_t kClosedExpired = 4401;

inline constexpr std::string_view kJsonProtocol = "skiff.v1.json";
inline constexpr std::string_view kBinaryProtocol = "skiff.v1.binary";

/// What a WebSocket handshake came to.
struct Handshake {
  protocol::Headers headers;
  std::string_view subprotocol;  ///< one of `known`; empty: none was offered that is
};
/// Errors: upgrade_required, invalid_request.
[[nodiscard]] Result<Handshake> shake_hands(const protocol::HttpRequest& request,
                                            std::initializer_list<std::string_view> known);
[[nodiscard]] inline Result<Handshake> shake_hands(const Call& call, std::initializer_list<std::string_view> known) {
  return shake_hands(call.http.request(), known);
}

/// GET .../commands/{cid}/attach: one command.
[[nodiscard]] Task<Result<>> attach(Call& call);
/// GET .../run?command=: starts one and attaches.
[[nodiscard]] Task<Result<>> run_attached(Call& call);
/// GET /v1/connect: any number of commands of any session.
[[nodiscard]] Task<Result<>> connect(Call& call);

/// Upgrades and runs `request` on a terminal: raw bytes both ways, text frames for {"resize":{cols,rows}}.
[[nodiscard]] Task<Result<>> serve_terminal(Call& call, std::shared_ptr<sessions::Session> session,
                                            CommandRequest request);

}  // namespace skiff::runtime::api
