#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

/// The opening handshake (RFC 6455 section 4), on header lookups, so that it knows no HTTP library.
namespace skiff::protocol {

/// The value of a header, several of the same name joined by ", " as RFC 9110 section 5.3 says; empty when absent. The
/// name is asked in lower case.
using HeaderLookup = std::function<std::string(std::string_view)>;

/// What a Sec-WebSocket-Key is answered with.
[[nodiscard]] std::string websocket_accept(std::string_view key);

/// True when the headers ask for an upgrade to a WebSocket, well-formed or not.
[[nodiscard]] bool wants_websocket(const HeaderLookup& header);

/// Checks a request on a WebSocket route and gives the value for Sec-WebSocket-Accept. Errors: `upgrade_required` (426:
/// no upgrade asked, or another version; answer with kUpgradeHeaders), `invalid_request` (400).
[[nodiscard]] Result<std::string> accept_websocket(std::string_view method, const HeaderLookup& header);

/// The headers that go with a 426.
inline constexpr std::pair<std::string_view, std::string_view> kUpgradeHeaders[] = {
    {"Upgrade", "websocket"}, {"Connection", "Upgrade"}, {"Sec-WebSocket-Version", "13"}};

/// The entries of a Sec-WebSocket-Protocol header, in order. One that is not a token (RFC 9110) makes it
/// `invalid_request`.
[[nodiscard]] Result<std::vector<std::string>> offered_subprotocols(std::string_view header);

/// The first of `offered` that is in `known`, or empty.
[[nodiscard]] std::string_view choose_subprotocol(const std::vector<std::string>& offered,
                                                  std::initializer_list<std::string_view> known) noexcept;

/// The client's side: what to send with a GET, and the check of what comes back.
class ClientHandshake {
 public:
  /// Makes a random key (RFC 6455 section 4.1).
  explicit ClientHandshake(std::vector<std::string> subprotocols = {});

  /// Upgrade, Connection, Sec-WebSocket-Key, -Version, and -Protocol when some were given.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> headers() const;

  /// Checks the answer; gives the subprotocol that was chosen, or "". Errors: `io_error` with what is wrong.
  [[nodiscard]] Result<std::string> check(unsigned status, const HeaderLookup& header) const;

 private:
  std::string key_;
  std::vector<std::string> subprotocols_;
};

}  // namespace skiff::protocol
