#include "container/egress/cluster/token_check.hpp"

#include <openssl/crypto.h>

#include <utility>

namespace skiff::container::egress {

Result<> TokenCheck::renew() {
  SKIFF_TRY(auto text, read_());
  if (generation_ != 0 && text == text_) return {};
  SKIFF_TRY(auto keys, EgressKeys::parse_pems(text));
  keys_ = std::move(keys);
  text_ = std::move(text);
  ++generation_;
  return {};
}

Result<bool> TokenCheck::is_of(std::string_view sandbox, std::string_view token, Shown* shown) {
  SKIFF_TRY_VOID(renew());
  // The time of the comparison tells nothing about the token.
  if (shown->keys == generation_ && shown->token.size() == token.size() &&
      CRYPTO_memcmp(shown->token.data(), token.data(), token.size()) == 0) {
    return true;
  }
  const auto found = keys_.sandbox_of(token);
  if (!found || *found != sandbox) return false;
  *shown = {.token = std::string{token}, .keys = generation_};
  return true;
}

}  // namespace skiff::container::egress
