#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/async/event.hpp"
#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/serve/keys/account_cache.hpp"
#include "container/serve/keys/api_key.hpp"

namespace skiff::container::serve {

/// Stores the keys of a driver on its host, for any number of processes. Reactor thread only.
class KeyStore {
 public:
  KeyStore() = default;
  KeyStore(const KeyStore&) = delete;
  KeyStore& operator=(const KeyStore&) = delete;
  virtual ~KeyStore() = default;

  /// The place of the keys, for people.
  [[nodiscard]] virtual std::string place() const = 0;
  /// Reads the keys; an empty ring if there are none yet.
  [[nodiscard]] virtual Task<Result<KeyRing>> read() = 0;
  /// Reads, changes and writes as one step: concurrent changes are not lost. If `edit` fails, nothing is changed.
  /// `edit` may be called more than once.
  [[nodiscard]] virtual Task<Result<>> change(std::function<Result<>(KeyRing&)> edit) = 0;
};

/// A server's cache of the keys. It is at most `kFresh` old, so a removed key ends that much later. If the keys cannot
/// be read, the last ones stay valid. Reactor thread only.
class KeyCache {
 public:
  static constexpr std::chrono::milliseconds kFresh{1000};
  /// Shortest time between two reads for unknown keys. An unknown key may be new, so the keys are read again; a client
  /// with a wrong key waits.
  static constexpr std::chrono::milliseconds kBetweenMisses{100};

  /// `store` must outlive it.
  explicit KeyCache(KeyStore* store) : store_{store} {}

  /// Also accepts tokens of service accounts. `accounts` must outlive it.
  void accept(AccountCache* accounts) noexcept { accounts_ = accounts; }
  /// See AccountCache; zeros if tokens are not accepted.
  [[nodiscard]] AccountCache::ReviewCounts reviews() const noexcept {
    return accounts_ == nullptr ? AccountCache::ReviewCounts{} : accounts_->reviews();
  }

  /// How long a request waits for newer keys; it waits longer only if there are none yet.
  static constexpr std::chrono::milliseconds kPatience{2000};

  [[nodiscard]] Task<Result<std::shared_ptr<const KeyRing>>> current();
  /// Ends a running read. Call it before the object is destroyed.
  [[nodiscard]] Task<> stop();
  /// True once keys were read, which stay usable from then on.
  [[nodiscard]] bool has_read() const noexcept { return ring_ != nullptr; }
  /// The tenants of all keys, and of the service accounts that were authenticated.
  [[nodiscard]] Task<Result<std::set<std::string>>> tenants();
  /// Finds the key, or the service account of a token. `source` is the address of the client.
  [[nodiscard]] Task<Result<ApiKey>> find(std::string presented, std::string source = {});
  /// True if a found key is still valid, or if the keys cannot be read. A token of an account ends at its time.
  [[nodiscard]] Task<bool> holds(ApiKey key);

 private:
  /// Begins to read the keys in the background, because the caller may leave.
  [[nodiscard]] Task<> begin_reading();
  [[nodiscard]] Task<> read();
  [[nodiscard]] Task<bool> reading_ended();

  KeyStore* store_;
  AccountCache* accounts_ = nullptr;
  std::optional<TaskGroup> tasks_;
  std::shared_ptr<Event> reading_;
  SteadyTime reading_since_{};
  std::optional<Error> failure_;  ///< error of the last reading
  std::shared_ptr<const KeyRing> ring_;
  SteadyTime read_at_{};  ///< when the last reading began
};

}  // namespace skiff::container::serve
