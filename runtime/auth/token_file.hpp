#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes/sha.hpp"
#include "base/error.hpp"
#include "runtime/auth/scopes.hpp"

namespace skiff::runtime {

/// SHA-256 of a static token. The agent keeps it instead of the token.
using TokenDigest = Sha256::Digest;

/// An accepted static token, its scopes and its session.
struct TokenEntry {
  TokenDigest digest{};
  Scopes scopes = Scopes::all();
  std::optional<std::string> session{};  ///< the only session it may use; absent: any
};

[[nodiscard]] TokenDigest digest_of(std::string_view text);

/// Parses 64 hex digits. Errors: invalid_field.
[[nodiscard]] Result<TokenDigest> digest_from_hex(std::string_view hex);

/// Creates a token: 256 random bits in base64url, 43 characters.
[[nodiscard]] std::string new_token();

/// True if `token` has a form that fits in a header: 1 to 8192 printable ASCII characters other than space.
[[nodiscard]] bool is_token_form(std::string_view token) noexcept;

/// Parses a token file: one token a line, `token [scopes] [session]`, with scopes separated by commas (default: admin).
/// Empty lines and lines that start with # are skipped. Errors: invalid_field, also for a file without a token; the
/// message names the line and contains none of its text.
[[nodiscard]] Result<std::vector<TokenEntry>> parse_token_file(std::string_view text);

/// Reads at most 1 MiB from `path`, parses it, and wipes the text.
[[nodiscard]] Result<std::vector<TokenEntry>> read_token_file(const std::string& path);

}  // namespace skiff::runtime
