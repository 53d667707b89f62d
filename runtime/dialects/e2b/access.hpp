#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "protocol/http/message.hpp"
#include "runtime/auth/token_file.hpp"

namespace skiff::runtime::dialects::e2b {

/// Who may use the dialect: whoever has its one token, given by --e2b-token-sha256 or by the first /init; everybody as
/// long as there is none. Reactor thread only.
class Access {
 public:
  explicit Access(std::optional<TokenDigest> digest) : digest_{digest} {}

  [[nodiscard]] bool is_closed() const noexcept { return digest_.has_value(); }

  /// X-Access-Token. True: it was shown and is right; false: none is needed. Errors: unauthenticated.
  [[nodiscard]] Result<bool> check(const protocol::Headers& headers);

  /// The same for a request to /files, where a signature in the query does, too: "v1_" and the SHA-256 in base64
  /// without padding of PATH:OPERATION:USERNAME:TOKEN, with :EXPIRY behind it where there is one (seconds since 1970).
  /// It holds the token in plain, so none is right before the token was shown once, to /init or in a header.
  [[nodiscard]] Result<bool> check_file(const protocol::HttpRequest& request, std::string_view operation,
                                        WallTime now = wall_now());

  /// Whether it is the signature of such a request that counts.
  [[nodiscard]] bool is_signed(const protocol::HttpRequest& request) const;

  /// From now on this is the token. Errors: invalid_field for what fits in no header.
  [[nodiscard]] Result<> close(std::string token);
  /// Whether it is the token that is set.
  [[nodiscard]] bool matches(std::string_view token);

 private:
  std::optional<TokenDigest> digest_;
  std::string token_;  ///< empty: not seen yet
};

}  // namespace skiff::runtime::dialects::e2b
