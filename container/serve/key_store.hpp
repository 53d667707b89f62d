#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/event.hpp"
#include "base/task.hpp"
#include "base/task_group.hpp"
#include "container/serve/account_cache.hpp"
#include "container/serve/api_key.hpp"

namespace skiff::container::serve {

/// Where the keys of a driver lie: with its host, for any number of processes. Reactor thread only.
class KeyStore {
 public:
  KeyStore() = default;
  KeyStore(const KeyStore&) = delete;
  KeyStore& operator=(const KeyStore&) = delete;
  virtual ~KeyStore() = default;

  /// Where it is, for people.
  [[nodiscard]] virtual std::string place() const = 0;
  /// An empty ring when there is none yet.
  [[nodiscard]] virtual Task<Result<KeyRing>> read() = 0;
  /// Reads, changes and writes as one step: what others change meanwhile is not lost. An error of `edit` changes
  /// nothing. `edit` may be called more than once.
  [[nodiscard]] virtual Task<Result<>> change(std::function<Result<>(KeyRing&)> edit) = 0;
};

/// The keys as a server sees them: at most `kFresh` old, so a key that was removed ends that much later. When they
/// can't be read, those before stay. Reactor thread only.
class KeyCache {
 public:
  static constexpr std::chrono::milliseconds kFresh{1000};
  /// A key that is not known may have been made just now. Then they are read again, but not more often than this, so
  /// whoever shows a wrong one waits.
  static constexpr std::chrono::milliseconds kBetweenMisses{100};

  /// `store` must outlive it.
  explicit KeyCache(KeyStore* store) : store_{store} {}

  /// Takes the tokens of service accounts, too. `accounts` must outlive it.
  void accept(AccountCache* accounts) noexcept { accounts_ = accounts; }

  /// For so long those are waited for that are newer than the ones that are known, and longer only before there are
  /// any.
  static constexpr std::chrono::milliseconds kPatience{2000};

  [[nodiscard]] Task<Result<std::shared_ptr<const KeyRing>>> current();
  /// Gives up a reading that goes on. Call it before the object goes away.
  [[nodiscard]] Task<> stop();
  /// Once at least: from then on there are some to go on with.
  [[nodiscard]] bool has_read() const noexcept { return ring_ != nullptr; }
  /// Those of all keys, and of the service accounts that have come.
  [[nodiscard]] Task<Result<std::set<std::string>>> tenants();
  /// `find_key` in them, or whose token it is. `source`: where it comes from.
  [[nodiscard]] Task<Result<ApiKey>> find(std::string presented, std::string source = {});
  /// Whether a key that was found is still one; so it is while nobody can say. A token of an account is over at its
  /// end.
  [[nodiscard]] Task<bool> holds(ApiKey key);

 private:
  /// Has them read, apart from whoever asks: he may leave.
  [[nodiscard]] Task<> begin_reading();
  [[nodiscard]] Task<> read();
  [[nodiscard]] Task<bool> reading_ended();

  KeyStore* store_;
  AccountCache* accounts_ = nullptr;
  std::optional<TaskGroup> tasks_;
  std::shared_ptr<Event> reading_;
  SteadyTime reading_since_{};
  std::optional<Error> failure_;  ///< of the last reading
  std::shared_ptr<const KeyRing> ring_;
  SteadyTime read_at_{};  ///< when the last reading began
};

}  // namespace skiff::container::serve
