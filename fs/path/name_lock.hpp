#pragma once

#include <sys/types.h>

#include <compare>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace skiff::fs {

/// A name in a directory, independent of the path to it.
struct NameKey {
  dev_t device = 0;
  ino_t directory = 0;
  std::string name = {};
  auto operator<=>(const NameKey&) const = default;
};
[[nodiscard]] Result<NameKey> key_of(int directory, const std::string& name);

/// Locks names for all sessions of this process while it lives, so a check under the lock still holds at the change. It
/// takes all its names at once, so two locks cannot deadlock. It waits until all are free; a job of a pool stands aside
/// meanwhile. Never hold it while waiting for a client's bytes.
class NameLock {
 public:
  explicit NameLock(std::vector<NameKey> keys);
  /// Locks one name.
  [[nodiscard]] static Result<NameLock> of(int directory, const std::string& name);
  NameLock(NameLock&& other) noexcept;
  NameLock& operator=(NameLock&&) = delete;
  ~NameLock();

 private:
  std::vector<NameKey> keys_;
};

}  // namespace skiff::fs
