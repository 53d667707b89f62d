#include "fs/path/name_lock.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "base/async/blocking_pool.hpp"
#include "fs/path/descriptor.hpp"

namespace skiff::fs {
namespace {

struct Table {
  std::mutex mutex;
  std::condition_variable freed;
  std::set<NameKey> held;
};

Table& table() {
  static Table names;
  return names;
}

}  // namespace

Result<NameKey> key_of(int directory, const std::string& name) {
  SKIFF_TRY(auto status, status_of(directory));
  return NameKey{.device = status.st_dev, .directory = status.st_ino, .name = name};
}

NameLock::NameLock(std::vector<NameKey> keys) : keys_{std::move(keys)} {
  std::ranges::sort(keys_);
  const auto repeated = std::ranges::unique(keys_);
  keys_.erase(repeated.begin(), repeated.end());
  Table& names = table();
  std::unique_lock lock{names.mutex};
  const auto free = [&] {
    return std::ranges::none_of(keys_, [&](const NameKey& key) { return names.held.contains(key); });
  };
  if (!free()) {
    // The holder of the names may need this thread in order to finish.
    const BlockingPool::Aside aside{BlockingPool::current()};
    names.freed.wait(lock, free);
  }
  names.held.insert(keys_.begin(), keys_.end());
}

Result<NameLock> NameLock::of(int directory, const std::string& name) {
  SKIFF_TRY(auto key, key_of(directory, name));
  std::vector<NameKey> keys;
  keys.push_back(std::move(key));
  return NameLock{std::move(keys)};
}

NameLock::NameLock(NameLock&& other) noexcept : keys_{std::exchange(other.keys_, {})} {}

NameLock::~NameLock() {
  if (keys_.empty()) return;
  Table& names = table();
  {
    const std::lock_guard lock{names.mutex};
    for (const NameKey& key : keys_) names.held.erase(key);
  }
  names.freed.notify_all();
}

}  // namespace skiff::fs
