#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes/sha.hpp"
#include "base/error.hpp"
#include "runtime/auth/scopes.hpp"

namespace skiff::runtime {

/// SHA-256 of a static token: what the agent keeps instead of the token.
using TokenDigest = Sha256::Digest;

/// A static token that is accepted, and what it allows.
struct TokenEntry {
  TokenDigest digest{};
  Scopes scopes = Scopes::all();
  std::optional<std::string> session{};  ///< the only session it may use; absent: any
};

[[nodiscard]] TokenDigest digest_of(std::string_view text);

/// 64 hex digits. Errors: invalid_field.
[[nodiscard]] Result<TokenDigest> digest_from_hex(std::string_view hex);

/// 256 random bits in base64url, 43 characters.
[[nodiscard]] std::string new_token();

/// True if `token` has a form that fits in a header: 1 to 8192 printable ASCII characters other than space.
[[nodiscard]] bool is_token_form(std::string_view token) noexcept;

/// A token file has one token a line, `token [scopes] [session]`, the scopes separated by commas (default: admin).
/// Empty lines and lines that start with # are skipped. A file without a token is an error. Errors (invalid_field) name
/// the line and never hold any of its text.
[[nodiscard]] Result<std::vector<TokenEntry>> parse_token_file(std::string_view text);

/// Reads at most 1 MiB from `path`, parses, and wipes what was read.
[[nodiscard]] Result<std::vector<TokenEntry>> read_token_file(const std::string& path);

}  // namespace skiff::runtime
