#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "fs/path/tree.hpp"
#include "fs/watch/shared_watches.hpp"

namespace skiff::runtime::dialects::e2b {

/// A directory that a client watches, and the client's position in its events.
struct Watching {
  fs::DirectoryWatches::Reader reader;
  std::shared_ptr<const fs::Tree> tree;
  std::string path;  ///< the directory's absolute path
  bool include_entry = false;
  std::uint64_t cursor = 0;
};

/// The watches of CreateWatcher, by their ids. There are at most `kMost`. A watch that was not polled for `kForgotten`
/// is removed when another one is added. Reactor thread only.
class Watchers {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::chrono::minutes kForgotten{10};

  /// Adds a watch and returns its id. Errors: resource_exhausted.
  [[nodiscard]] Result<std::string> add(Watching watching, SteadyTime now = SteadyTime::clock::now());
  /// Finds a watch. The reader holds it as long as it reads. Errors: not_found.
  [[nodiscard]] Result<std::shared_ptr<Watching>> find(std::string_view id, SteadyTime now = SteadyTime::clock::now());
  /// Removes a watch. Errors: not_found.
  [[nodiscard]] Result<> remove(std::string_view id);

 private:
  struct Entry {
    std::shared_ptr<Watching> watching;
    SteadyTime used;
  };
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace skiff::runtime::dialects::e2b
