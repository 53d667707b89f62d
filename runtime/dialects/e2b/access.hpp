#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "protocol/http/message.hpp"
#include "runtime/auth/token_file.hpp"

namespace skiff::runtime::dialects::e2b {

/// Decides who may use the dialect. If there is a token, given by --e2b-token-sha256 or by the first /init, a client
/// must show it. Without one everybody may use the dialect. Reactor thread only.
class Access {
 public:
  explicit Access(std::optional<TokenDigest> digest) : digest_{digest} {}

  [[nodiscard]] bool is_closed() const noexcept { return digest_.has_value(); }

  /// Checks X-Access-Token, or else E2B-Traffic-Access-Token. True: the client has shown it. False: nothing is
  /// protected. Errors: unauthenticated.
  [[nodiscard]] Result<bool> check(const protocol::Headers& headers);

  /// Checks a request to /files, which may carry a signature in its query instead of the header: "v1_" and the SHA-256
  /// in base64 without padding of PATH:OPERATION:USERNAME:TOKEN, with :EXPIRY behind it if there is one (seconds since
  /// 1970). The hash covers the token in plain, so no signature is accepted before a client has shown the token, to
  /// /init or in a header. Result and errors are those of `check`.
  [[nodiscard]] Result<bool> check_file(const protocol::HttpRequest& request, std::string_view operation,
                                        WallTime now = wall_now());

  /// Whether a signature, and not a header, authenticates this request.
  [[nodiscard]] bool is_signed(const protocol::HttpRequest& request) const;

  /// Sets the token. Errors: invalid_field for a text that does not fit in a header.
  [[nodiscard]] Result<> close(std::string token);
  /// Whether `token` is the token that is set.
  [[nodiscard]] bool matches(std::string_view token);

 private:
  std::optional<TokenDigest> digest_;
  std::string token_;  ///< empty: no client has shown it yet
};

}  // namespace skiff::runtime::dialects::e2b
