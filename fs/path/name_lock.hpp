#pragma once

#include <sys/types.h>

#include <compare>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace skiff::fs {

/// A name in a directory, whatever path led to it.
struct NameKey {
  dev_t device = 0;
  ino_t directory = 0;
  std::string name = {};
  auto operator<=>(const NameKey&) const = default;
};
[[nodiscard]] Result<NameKey> key_of(int directory, const std::string& name);

/// Locks names for all sessions of this process, for as long as it lives: what was checked under the lock still holds
/// at the change. Takes all its names at once, so that no two locks can wait for each other; waits until all are free,
/// aside where it is for a job of a pool. Never held across the arrival of a client's bytes.
class NameLock {
 public:
  explicit NameLock(std::vector<NameKey> keys);
  /// Of one name.
  [[nodiscard]] static Result<NameLock> of(int directory, const std::string& name);
  NameLock(NameLock&& other) noexcept;
  NameLock& operator=(NameLock&&) = delete;
  ~NameLock();

 private:
  std::vector<NameKey> keys_;
};

}  // namespace skiff::fs
