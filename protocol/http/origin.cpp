#include "protocol/http/origin.hpp"

#include <algorithm>

namespace skiff::protocol {
namespace {

constexpr std::string_view kBehindScheme = "://";

std::string small_letters(std::string_view text) {
  std::string result{text};
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return result;
}

}  // namespace

std::optional<Authority> parse_authority(std::string_view text) {
  Authority authority;
  std::size_t end = 0;
  if (text.starts_with('[')) {
    end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    authority.host = small_letters(text.substr(1, end - 1));
    authority.bracketed = true;
    ++end;
  } else {
    end = std::min(text.find(':'), text.size());
    authority.host = small_letters(text.substr(0, end));
    if (authority.host.ends_with('.')) authority.host.pop_back();
  }
  const std::string_view rest = text.substr(end);
  if (!rest.empty()) {
    if (rest.front() != ':' || rest.size() > 6) return std::nullopt;
    authority.port = rest.substr(1);
  }
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto may_stand_in_host = [&](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_' ||
           (authority.bracketed && c == ':');
  };
  if (authority.host.empty() || !std::ranges::all_of(authority.host, may_stand_in_host) ||
      !std::ranges::all_of(authority.port, is_digit)) {
    return std::nullopt;
  }
  return authority;
}

std::optional<std::string> normal_origin(std::string_view text) {
  const std::size_t colon = text.find(kBehindScheme);
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const std::string scheme = small_letters(text.substr(0, colon));
  auto authority = parse_authority(text.substr(colon + kBehindScheme.size()));
  if (!authority) return std::nullopt;
  if ((scheme == "http" && authority->port == "80") || (scheme == "https" && authority->port == "443")) {
    authority->port.clear();
  }
  std::string origin = scheme + std::string{kBehindScheme};
  origin += authority->bracketed ? "[" + authority->host + "]" : authority->host;
  if (!authority->port.empty()) origin += ":" + authority->port;
  return origin;
}

bool is_origin_of(std::string_view origin, std::string_view scheme, std::string_view host) {
  const auto normal = normal_origin(origin);
  return normal && normal == normal_origin(std::string{scheme} + std::string{kBehindScheme} + std::string{host});
}

}  // namespace skiff::protocol
