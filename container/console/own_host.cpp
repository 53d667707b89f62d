#include "container/console/own_host.hpp"

#include <utility>

#include "base/clock.hpp"
#include "container/serve/keys/api_key.hpp"

namespace skiff::container::console {

OwnKey::OwnKey(std::string owner)
    : text_{serve::new_api_key()},
      ring_{.token_secret = serve::new_token_secret(),
            .keys = {{.name = {},
                      .sha256 = serve::sha256_hex(text_),
                      .tenant = std::move(owner),
                      .scopes = {serve::KeyScope::create, serve::KeyScope::use},
                      .max_sandboxes = 0,
                      .creations_per_minute = 0,
                      .max_stopped = 0,
                      .created_at = rfc3339(wall_now()),
                      .expires_ms = {}}}} {}

}  // namespace skiff::container::console
