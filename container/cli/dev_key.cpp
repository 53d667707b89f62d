#include "container/cli/dev_key.hpp"

#include <chrono>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace skiff::container {

using serve::ApiKey;
using serve::KeyRing;
using serve::KeyScope;

namespace {

/// The key of a server that was killed ends then.
constexpr std::chrono::days kLongest{7};

}  // namespace

DevKey::DevKey(serve::KeyStore* store)
    : store_{store}, text_{serve::new_api_key()}, name_{"dev-" + serve::new_nonce()} {}

Task<Result<DevKey>> DevKey::create(serve::KeyStore* store, std::string tenant) {
  DevKey made{store};
  const WallTime now = wall_now();
  const ApiKey key{
      .name = made.name_,
      .sha256 = serve::sha256_hex(made.text_),
      .tenant = std::move(tenant),
      .scopes = {KeyScope::create, KeyScope::use},
      .max_sandboxes = 0,
      .creations_per_minute = 0,
      .max_stopped = 0,
      .created_at = rfc3339(now),
      .expires_ms = std::chrono::floor<std::chrono::milliseconds>((now + kLongest).time_since_epoch()).count()};
  auto add = [&key](KeyRing& ring) -> Result<> {
    if (ring.token_secret.empty()) ring.token_secret = serve::new_token_secret();
    ring.keys.push_back(key);
    return {};
  };
  SKIFF_CO_TRY_VOID(co_await store->change(std::move(add)));
  co_return made;
}

Task<Result<>> DevKey::remove() {
  auto drop = [this](KeyRing& ring) -> Result<> {
    std::erase_if(ring.keys, [this](const ApiKey& key) { return key.name == name_; });
    return {};
  };
  co_return co_await store_->change(std::move(drop));
}

}  // namespace skiff::container
