#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>

#include "runtime/api/call.hpp"
#include "runtime/api/requests.hpp"

/// Handlers of the WebSocket routes. Each makes as many checks as possible before the upgrade, so that their errors are
/// a status and a problem document. Later errors are `error` events or close codes.
namespace skiff::runtime::api {

/// The agent's own close codes (RFC 6455 section 7.4.2).
inline constexpr std::uint16_t kClosedSessionDeleted = 4004;
inline constexpr std::uint16_t kClosedTooSlow = 4008;
inline constexpr std::uint16_t kClosedExpired = 4401;

inline constexpr std::string_view kJsonProtocol = "skiff.v1.json";
inline constexpr std::string_view kBinaryProtocol = "skiff.v1.binary";

/// The result of a WebSocket handshake.
struct Handshake {
  protocol::Headers headers;
  std::string_view subprotocol;  ///< one of `known`; empty: the client offered none of them
};
/// Errors: upgrade_required, invalid_request.
[[nodiscard]] Result<Handshake> shake_hands(const protocol::HttpRequest& request,
                                            std::initializer_list<std::string_view> known);
[[nodiscard]] inline Result<Handshake> shake_hands(const Call& call, std::initializer_list<std::string_view> known) {
  return shake_hands(call.http.request(), known);
}

/// GET .../commands/{cid}/attach: attaches to a command.
[[nodiscard]] Task<Result<>> attach(Call& call);
/// GET .../run?command=: starts a command and attaches to it.
[[nodiscard]] Task<Result<>> run_attached(Call& call);
/// GET /v1/connect: any number of commands of any session.
[[nodiscard]] Task<Result<>> connect(Call& call);

/// Upgrades and runs `request` on a terminal: binary frames are its bytes in both directions, text frames are
/// {"resize":{cols,rows}}.
[[nodiscard]] Task<Result<>> serve_terminal(Call& call, std::shared_ptr<sessions::Session> session,
                                            CommandRequest request);

}  // namespace skiff::runtime::api
