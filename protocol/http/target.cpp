#include "protocol/http/target.hpp"

#include <algorithm>
#include <utility>

#include "base/bytes/hex.hpp"
#include "protocol/http/message.hpp"

namespace skiff::protocol {
namespace {

std::unexpected<Error> bad_target(std::string why) {
  return fail(Errc::invalid_request, "the request's target " + std::move(why));
}

/// Decodes a part of a target. A part that cannot be decoded stays as it was sent; the first fault is kept.
std::string decode_part(std::string_view text, Plus plus, std::optional<Error>& fault) {
  auto decoded = percent_decode(text, plus);
  if (decoded) return std::move(*decoded);
  if (!fault) fault = std::move(decoded.error());
  return std::string{text};
}

/// Adds the decoded pieces of a query; a piece without `=` has an empty value, empty pieces are skipped.
void parse_query(std::string_view text, Target& target) {
  while (!text.empty()) {
    const std::size_t end = text.find('&');
    const std::string_view piece = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (piece.empty()) continue;
    const std::size_t equals = piece.find('=');
    const std::string_view value = equals == std::string_view::npos ? std::string_view{} : piece.substr(equals + 1);
    std::string name = decode_part(piece.substr(0, equals), Plus::is_space, target.fault);
    target.query.push_back({std::move(name), decode_part(value, Plus::is_space, target.fault)});
  }
}

/// Returns the size of the scheme at the start of an absolute-form target, 0 for other forms.
std::size_t scheme_size(std::string_view text) noexcept {
  for (const std::string_view scheme : {std::string_view{"http://"}, std::string_view{"https://"}}) {
    if (text.size() >= scheme.size() && same_text(text.substr(0, scheme.size()), scheme)) return scheme.size();
  }
  return 0;
}

}  // namespace

Result<std::string> percent_decode(std::string_view text, Plus plus) {
  std::string decoded;
  if (text.find_first_of(plus == Plus::is_space ? "%+" : "%") == std::string_view::npos) {
    decoded = text;
    return decoded;
  }
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus == Plus::is_space) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) return bad_target("holds a % that is not followed by two hexadecimal digits");
      if (high == 0 && low == 0) return bad_target("holds %00: a NUL byte");
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return decoded;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                            c == '.' || c == '_' || c == '~';
    if (unreserved) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kDigits[byte >> 4];
    encoded += kDigits[byte & 15];
  }
  return encoded;
}

Result<Target> Target::parse(std::string_view text) {
  Target target;
  if (text == "*") {
    target.path = text;
    return target;
  }
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 0x7f) return bad_target("holds a space or a control character");
    if (c == '#') return bad_target("holds a fragment");
  }
  if (const std::size_t scheme = scheme_size(text); scheme > 0) {
    const std::size_t end = std::min(text.find_first_of("/?", scheme), text.size());
    target.authority = text.substr(scheme, end - scheme);
    if (target.authority.empty()) return bad_target("is an absolute URL without a host");
    if (target.authority.find('@') != std::string::npos) return bad_target("holds user information");
    text.remove_prefix(end);
    // RFC 9112, 3.2.2: an absolute URL may have an empty path, which means "/".
    if (text.empty() || text.front() == '?') target.path = "/";
  } else if (!text.starts_with('/')) {
    return bad_target("is neither a path nor an http URL");
  }

  const std::size_t question = text.find('?');
  if (target.path.empty()) target.path = text.substr(0, question);
  std::string_view rest{target.path};
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    target.segments.push_back(decode_part(rest.substr(0, slash), Plus::literal, target.fault));
    rest.remove_prefix(slash);
  }
  if (question != std::string_view::npos) parse_query(text.substr(question + 1), target);
  return target;
}

std::optional<std::string_view> Target::parameter(std::string_view name) const noexcept {
  for (const Parameter& parameter : query) {
    if (parameter.name == name) return parameter.value;
  }
  return std::nullopt;
}

}  // namespace skiff::protocol
