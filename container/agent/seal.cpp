#include "container/agent/seal.hpp"

#include "protocol/json/base64.hpp"

namespace skiff::container {

std::optional<std::string> create_seal(const SigningKey& key, std::string_view text) {
  const auto signature = key.sign(text);
  if (!signature) return std::nullopt;
  return protocol::encode_base64(*signature);
}

std::optional<SigningKey> sealed_by(const SigningKeys& keys, std::string_view text, std::string_view seal) {
  // Ed25519 signs the same text always in the same way (RFC 8032, 5.1.6), so the seal can be made again and compared.
  if (create_seal(keys.current, text) == seal) return keys.current;
  for (const SigningKey& key : keys.older) {
    if (create_seal(key, text) == seal) return key;
  }
  return std::nullopt;
}

}  // namespace skiff::container
