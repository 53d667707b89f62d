#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "container/agent/egress_token.hpp"

namespace skiff::container::egress {

/// Checks the tokens of sandboxes. To parse a key and to verify a signature costs more than all else that a connection
/// needs, so both are done once: the keys are parsed again when their text changes, and from then on no token counts
/// that was verified with others.
class TokenCheck {
 public:
  /// `read` gives the public keys, PEM, at present.
  explicit TokenCheck(std::function<Result<std::string>()> read) : read_{std::move(read)} {}

  /// The token that a sandbox has shown. Whoever keeps it forgets it together with the sandbox.
  struct Shown {
    std::string token = {};
    std::uint64_t keys = 0;  ///< with which it was verified
  };

  /// Whether the token is that of this sandbox. Errors: the keys cannot be read.
  [[nodiscard]] Result<bool> is_of(std::string_view sandbox, std::string_view token, Shown* shown);

 private:
  [[nodiscard]] Result<> renew();

  std::function<Result<std::string>()> read_;
  std::string text_;
  EgressKeys keys_;
  std::uint64_t generation_ = 0;  ///< of the keys; 0: none have been parsed
};

}  // namespace skiff::container::egress
