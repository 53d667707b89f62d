#pragma once

#include <string>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/serve/keys/key_store.hpp"

namespace skiff::container {

/// The API key of `skiff serve --dev`. It ends with its server, or after seven days. Two such servers at a time have a
/// key each.
class DevKey {
 public:
  /// Creates a key with the scopes `create` and `use` for the tenant, and stores its digest. `store` must outlive the
  /// result.
  [[nodiscard]] static Task<Result<DevKey>> create(serve::KeyStore* store, std::string tenant);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// Revokes the key. No error if somebody has removed it already.
  [[nodiscard]] Task<Result<>> remove();

 private:
  explicit DevKey(serve::KeyStore* store);

  serve::KeyStore* store_;
  std::string text_;
  std::string name_;
};

}  // namespace skiff::container
