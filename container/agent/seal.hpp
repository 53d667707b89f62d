#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "container/agent/signing_key.hpp"

/// A seal shows that a text was written by somebody who has the signing key: it is a signature, in base64.
namespace skiff::container {

/// nullopt if OpenSSL cannot sign. The text must not begin with a character of base64, as tokens do.
[[nodiscard]] std::optional<std::string> create_seal(const SigningKey& key, std::string_view text);

/// The key that has sealed just this text; nullopt if none of them has.
[[nodiscard]] std::optional<SigningKey> sealed_by(const SigningKeys& keys, std::string_view text,
                                                  std::string_view seal);

}  // namespace skiff::container
