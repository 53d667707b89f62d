#include "container/egress/host_name.hpp"

#include <algorithm>
#include <charconv>

#include "protocol/json/utf8.hpp"

namespace skiff::container::egress {
namespace {

constexpr std::size_t kLongestName = 253;
constexpr std::size_t kLongestLabel = 63;
constexpr std::size_t kShown = 300;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= kLongestLabel && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(label,
                             [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_'; });
}

/// Programs take a name whose last label is a number for an IPv4 address, whatever its other labels are.
bool is_number(std::string_view label) {
  return std::ranges::all_of(label, is_digit) || label.starts_with("0x");
}

}  // namespace

std::optional<std::string> host_name(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  if (text.empty() || text.size() > kLongestName) return std::nullopt;
  std::string name{text};
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  std::string_view rest{name};
  for (;;) {
    const std::size_t dot = rest.find('.');
    const std::string_view label = rest.substr(0, dot);
    if (!is_label(label)) return std::nullopt;
    if (dot == std::string_view::npos) return is_number(label) ? std::nullopt : std::optional{name};
    rest.remove_prefix(dot + 1);
  }
}

std::optional<std::uint16_t> port_number(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool is_whole = error == std::errc{} && end == text.data() + text.size();
  return is_whole && port != 0 && text.front() != '0' ? std::optional{port} : std::nullopt;
}

Result<Target> Target::parse(std::string_view text) {
  const auto refuse = [&](const char* why) {
    return fail(Errc::invalid_request, "\"" + protocol::to_valid_utf8(text.substr(0, kShown)) + "\" " + why);
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refuse("has no port: expected HOST:PORT");
  const auto port = port_number(text.substr(colon + 1));
  if (!port) return refuse("has no port of 1 to 65535");
  auto host = host_name(text.substr(0, colon));
  if (!host) return refuse("is not a DNS name with a port; addresses are not served, and Unicode only as xn--");
  return Target{.host = std::move(*host), .port = *port};
}

Result<Target> Target::plain(std::string_view authority) {
  std::string text{authority};
  if (!text.contains(':')) text += ":" + std::to_string(kHttpPort);
  SKIFF_TRY(auto target, parse(text));
  target.is_plain = true;
  return target;
}

}  // namespace skiff::container::egress
