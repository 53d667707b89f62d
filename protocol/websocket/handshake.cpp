#include "protocol/websocket/handshake.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/bytes/sha.hpp"
#include "base/bytes/text.hpp"
#include "base/id.hpp"
#include "protocol/http/parser.hpp"
#include "protocol/json/base64.hpp"

namespace skiff::protocol {
namespace {

constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";  // RFC 6455 section 1.3

bool same_word(std::string_view a, std::string_view b) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// Calls `each` for the entries of a comma-separated list (RFC 9110 section 5.6.1: empty ones do not count).
template <class Each>
void for_each_entry(std::string_view list, Each each) {
  while (true) {
    const std::size_t comma = list.find(',');
    if (const std::string_view entry = trimmed(list.substr(0, comma)); !entry.empty()) each(entry);
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

bool lists_word(std::string_view list, std::string_view word) {
  bool found = false;
  for_each_entry(list, [&](std::string_view entry) { found = found || same_word(entry, word); });
  return found;
}

}  // namespace

std::string websocket_accept(std::string_view key) {
  const std::string text = std::string{key} + std::string{kGuid};
  const auto digest = sha1(text);
  return encode_base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

bool wants_websocket(const HeaderLookup& header) {
  return lists_word(header("upgrade"), "websocket");
}

Result<std::string> accept_websocket(std::string_view method, const HeaderLookup& header) {
  if (!wants_websocket(header) || !lists_word(header("connection"), "upgrade")) {
    return fail(Errc::upgrade_required,
                "this route speaks WebSocket: ask for it with Connection: Upgrade and Upgrade: websocket");
  }
  if (method != "GET") return fail(Errc::invalid_request, "a WebSocket upgrade needs the method GET");
  if (const std::string version = header("sec-websocket-version"); trimmed(version) != "13") {
    return fail(Errc::upgrade_required, "only version 13 of the WebSocket protocol is supported",
                "Sec-WebSocket-Version");
  }
  const std::string key = header("sec-websocket-key");
  if (const auto bytes = decode_base64(trimmed(key)); !bytes || bytes->size() != 16) {
    return fail(Errc::invalid_request, "Sec-WebSocket-Key must be 16 bytes in base64", "Sec-WebSocket-Key");
  }
  std::string accept = websocket_accept(trimmed(key));
  if (accept.empty()) return fail(Errc::internal, "SHA-1 is not available");
  return accept;
}

Result<std::vector<std::string>> offered_subprotocols(std::string_view header) {
  std::vector<std::string> offered;
  bool good = true;
  for_each_entry(header, [&](std::string_view entry) {
    good = good && is_token(entry);
    offered.emplace_back(entry);
  });
  if (!good) return fail(Errc::invalid_request, "a subprotocol is not a token", "Sec-WebSocket-Protocol");
  return offered;
}

std::string_view choose_subprotocol(const std::vector<std::string>& offered,
                                    std::initializer_list<std::string_view> known) noexcept {
  for (const std::string& offer : offered) {
    // Return the known name: it outlives this call, the offered one may not.
    for (const std::string_view name : known) {
      if (name == offer) return name;
    }
  }
  return {};
}

ClientHandshake::ClientHandshake(std::vector<std::string> subprotocols) : subprotocols_{std::move(subprotocols)} {
  std::array<std::byte, 16> nonce;
  random_bytes(nonce);
  key_ = encode_base64({reinterpret_cast<const char*>(nonce.data()), nonce.size()});
}

std::vector<std::pair<std::string, std::string>> ClientHandshake::headers() const {
  std::vector<std::pair<std::string, std::string>> out{{"Upgrade", "websocket"},
                                                       {"Connection", "Upgrade"},
                                                       {"Sec-WebSocket-Key", key_},
                                                       {"Sec-WebSocket-Version", "13"}};
  std::string list;
  for (const std::string& name : subprotocols_) {
    if (!list.empty()) list += ", ";
    list += name;
  }
  if (!list.empty()) out.emplace_back("Sec-WebSocket-Protocol", std::move(list));
  return out;
}

Result<std::string> ClientHandshake::check(unsigned status, const HeaderLookup& header) const {
  if (status != 101)
    return fail(Errc::io_error, "WebSocket: the server answered " + std::to_string(status) + " instead of 101");
  if (!wants_websocket(header) || !lists_word(header("connection"), "upgrade")) {
    return fail(Errc::io_error, "WebSocket: the server's 101 is not an upgrade to a WebSocket");
  }
  const std::string accept = header("sec-websocket-accept");
  if (trimmed(accept) != websocket_accept(key_)) {
    return fail(Errc::io_error, "WebSocket: the server's Sec-WebSocket-Accept does not belong to our key");
  }
  if (!header("sec-websocket-extensions").empty()) {
    return fail(Errc::io_error, "WebSocket: the server chose an extension that was not offered");
  }
  const std::string answer = header("sec-websocket-protocol");
  std::string chosen{trimmed(answer)};
  if (!chosen.empty() && std::ranges::find(subprotocols_, chosen) == subprotocols_.end()) {
    return fail(Errc::io_error, "WebSocket: the server chose a subprotocol that was not offered");
  }
  return chosen;
}

}  // namespace skiff::protocol
