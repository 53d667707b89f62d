#include "container/egress/socks.hpp"

#include <utility>

namespace skiff::container::egress {
namespace {

constexpr std::size_t kRequestHead = 4;  ///< version, command, reserved, kind of the address
constexpr char kConnect = '\x01';
constexpr char kName = '\x03';
constexpr std::size_t kPort = 2;

std::size_t number(char byte) {
  return static_cast<unsigned char>(byte);
}

std::unexpected<Refusal> refuse(unsigned status, std::string_view code, std::string why) {
  return std::unexpected{Refusal{status, code, std::move(why)}};
}

}  // namespace

std::expected<std::size_t, Refusal> read_socks_greeting(std::string_view bytes) {
  if (bytes.size() < 2) return 0;
  const std::size_t size = 2 + number(bytes[1]);
  if (bytes.size() < size) return 0;
  if (bytes.substr(2, size - 2).contains('\0')) return size;
  return refuse(400, "bad_request", "SOCKS5 passes here without a login only");
}

std::expected<SocksRequest, Refusal> read_socks_request(std::string_view bytes) {
  if (!bytes.empty() && bytes[0] != kSocks) return refuse(400, "bad_request", "this is not a request of SOCKS5");
  if (bytes.size() < kRequestHead) return SocksRequest{};
  if (bytes[1] != kConnect) return refuse(405, "method_not_allowed", "only CONNECT passes here");
  if (bytes[2] != '\0') return refuse(400, "bad_request", "this is not a request of SOCKS5");
  if (bytes[3] != kName) {
    return refuse(400, "bad_target", "addresses are not served: use a client that sends names, as socks5h:// does");
  }
  if (bytes.size() == kRequestHead) return SocksRequest{};
  const std::size_t length = number(bytes[kRequestHead]);
  const std::size_t size = kRequestHead + 1 + length + kPort;
  if (bytes.size() < size) return SocksRequest{};
  const std::size_t port = number(bytes[size - 2]) << 8U | number(bytes[size - 1]);
  std::string text{bytes.substr(kRequestHead + 1, length)};
  auto target = Target::parse(text.append(":").append(std::to_string(port)));
  if (!target) return refuse(400, "bad_target", target.error().message);
  return SocksRequest{.target = std::move(*target), .size = size};
}

std::string socks_refusal(const Refusal& refusal) {
  char reply = '\x01';  // general failure
  if (refusal.status == 403 || refusal.code == "bad_target") reply = '\x02';
  if (refusal.code == "dns") reply = '\x04';
  if (refusal.code == "connect") reply = '\x05';
  if (refusal.status == 504) reply = '\x06';
  if (refusal.status == 405) reply = '\x07';
  std::string text{kSocksConnected};
  text[1] = reply;
  return text;
}

}  // namespace skiff::container::egress
