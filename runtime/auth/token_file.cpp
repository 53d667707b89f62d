#include "runtime/auth/token_file.hpp"

#include <openssl/crypto.h>

#include <algorithm>

#include "base/bytes/hex.hpp"
#include "base/id.hpp"
#include "base/small_file.hpp"
#include "protocol/json/base64.hpp"
#include "runtime/auth/token_strength.hpp"

namespace skiff::runtime {
namespace {

constexpr std::size_t kLongestTokenFile = 1024 * 1024;
constexpr std::size_t kLongestToken = 8192;

std::string_view next_field(std::string_view& line) noexcept {
  constexpr std::string_view kBlank = " \t";
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  const std::string_view field = line.substr(0, line.find_first_of(kBlank));
  line.remove_prefix(field.size());
  return field;
}

}  // namespace

TokenDigest digest_of(std::string_view text) {
  return Sha256::of(text);
}

Result<TokenDigest> digest_from_hex(std::string_view hex) {
  TokenDigest digest{};
  if (hex.size() != 2 * digest.size() || !std::ranges::all_of(hex, [](char c) { return hex_value(c) >= 0; })) {
    return fail(Errc::invalid_field, "a SHA-256 has 64 hex digits");
  }
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<unsigned char>(hex_value(hex[2 * i]) * 16 + hex_value(hex[2 * i + 1]));
  }
  return digest;
}

std::string new_token() {
  std::array<std::byte, 32> secret{};
  random_bytes(secret);
  std::string token = protocol::encode_base64url({reinterpret_cast<const char*>(secret.data()), secret.size()});
  OPENSSL_cleanse(secret.data(), secret.size());
  return token;
}

bool is_token_form(std::string_view token) noexcept {
  return !token.empty() && token.size() <= kLongestToken &&
         std::ranges::all_of(token, [](char c) { return c > ' ' && c < '\x7f'; });
}

Result<std::vector<TokenEntry>> parse_token_file(std::string_view text) {
  std::vector<TokenEntry> entries;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);

    const std::string_view token = next_field(line);
    if (token.empty() || token.front() == '#') continue;
    const std::string_view scopes = next_field(line);
    const std::string_view session = next_field(line);
    const auto refuse = [number](std::string_view why) {
      return fail(Errc::invalid_field, "line " + std::to_string(number) + ": " + std::string{why});
    };
    if (!is_token_form(token)) return refuse("a token has at most 8192 characters, all printable ASCII");
    if (!next_field(line).empty()) return refuse("expected: token [scopes, by commas] [session]");
    TokenEntry entry{.digest = digest_of(token)};
    if (!scopes.empty()) {
      const auto parsed = Scopes::parse_list(scopes);
      if (!parsed) return refuse(parsed.error().message);
      entry.scopes = *parsed;
    }
    if (!session.empty()) {
      if (!is_valid_id(session)) return refuse("the session is not a valid id");
      entry.session = session;
    }
    if (std::ranges::count(entries, entry.digest, &TokenEntry::digest) > 0) {
      return refuse("the token is on a line above, too");
    }
    entries.push_back(std::move(entry));
  }
  if (entries.empty()) return fail(Errc::invalid_field, "it contains no token");
  return entries;
}

Result<std::vector<TokenEntry>> read_token_file(const std::string& path) {
  SKIFF_TRY(auto text, read_small_file(path, kLongestTokenFile));
  auto entries = parse_token_file(text);
  if (entries) warn_of_weak_tokens(text);
  wipe(text);
  if (!entries) entries.error().message = "\"" + path + "\": " + entries.error().message;
  return entries;
}

}  // namespace skiff::runtime
