#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

/// The opening handshake (RFC 6455 section 4). It uses header lookups, so it depends on no HTTP library.
namespace skiff::protocol {

/// Returns the value of a header; several of the same name are joined by ", " (RFC 9110 section 5.3); empty when
/// absent. The name is in lower case.
using HeaderLookup = std::function<std::string(std::string_view)>;

/// Returns the Sec-WebSocket-Accept for a Sec-WebSocket-Key.
[[nodiscard]] std::string websocket_accept(std::string_view key);

/// Returns true when the headers ask for an upgrade to a WebSocket, well-formed or not.
[[nodiscard]] bool wants_websocket(const HeaderLookup& header);

/// Checks a request on a WebSocket route; returns the value of Sec-WebSocket-Accept. Errors: `upgrade_required` (426:
/// no upgrade, or another version; respond with kUpgradeHeaders), `invalid_request` (400).
[[nodiscard]] Result<std::string> accept_websocket(std::string_view method, const HeaderLookup& header);

/// The headers of a 426 response.
inline constexpr std::pair<std::string_view, std::string_view> kUpgradeHeaders[] = {
    {"Upgrade", "websocket"}, {"Connection", "Upgrade"}, {"Sec-WebSocket-Version", "13"}};

/// Returns the entries of a Sec-WebSocket-Protocol header, in order. Errors: `invalid_request` if one is not a token
/// (RFC 9110).
[[nodiscard]] Result<std::vector<std::string>> offered_subprotocols(std::string_view header);

/// Returns the first of `offered` that is in `known`, or an empty text.
[[nodiscard]] std::string_view choose_subprotocol(const std::vector<std::string>& offered,
                                                  std::initializer_list<std::string_view> known) noexcept;

/// The client's side of the handshake: the headers of its GET, and the check of the response.
class ClientHandshake {
 public:
  /// Creates a random key (RFC 6455 section 4.1).
  explicit ClientHandshake(std::vector<std::string> subprotocols = {});

  /// Returns Upgrade, Connection, Sec-WebSocket-Key, -Version, and -Protocol if there are subprotocols.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> headers() const;

  /// Checks the response; returns the chosen subprotocol, or "". Errors: `io_error` with the reason.
  [[nodiscard]] Result<std::string> check(unsigned status, const HeaderLookup& header) const;

 private:
  std::string key_;
  std::vector<std::string> subprotocols_;
};

}  // namespace skiff::protocol
