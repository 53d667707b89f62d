#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "base/clock.hpp"

namespace skiff::sessions {

/// Remembers which paths lie on file systems of this machine, which don't hang: what is looked up there holds nobody
/// up. ConnectionSlots are paths between colons, as in PATH. Bounded; reactor thread only.
class LocalPaths {
 public:
  /// True when all of `paths` were seen to be local, not long ago.
  [[nodiscard]] bool knows(const std::string& paths) const;
  void note(const std::string& paths);

  /// Asks the kernel, which may take long; any thread. False for relative paths. What is missing lies where the next
  /// one above it does.
  [[nodiscard]] static bool are_local(const std::string& paths);

 private:
  static constexpr std::chrono::seconds kLately{30};
  static constexpr std::size_t kMost = 64;

  std::unordered_map<std::string, SteadyTime> known_;
};

}  // namespace skiff::sessions
