#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "base/clock.hpp"

namespace skiff::sessions {

/// Remembers which places lie on file systems of this machine, which don't hang: what is looked up there holds nobody
/// up. Places are paths between colons, as in PATH. Bounded; reactor thread only.
class LocalPlaces {
 public:
  /// True when all of `places` were seen to be local, not long ago.
  [[nodiscard]] bool knows(const std::string& places) const;
  void note(const std::string& places);

  /// Asks the kernel, which may take long; any thread. False for relative paths. What is missing lies where the next
  /// one above it does.
  [[nodiscard]] static bool are_local(const std::string& places);

 private:
  static constexpr std::chrono::seconds kLately{30};
  static constexpr std::size_t kMost = 64;

  std::unordered_map<std::string, SteadyTime> known_;
};

}  // namespace skiff::sessions
