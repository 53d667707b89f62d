#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "base/clock.hpp"

namespace skiff::sessions {

/// Remembers which paths are on file systems of this machine, where a look-up does not hang. `paths` are separated by
/// colons, as in PATH. Bounded; reactor thread only.
class LocalPaths {
 public:
  /// True when `paths` were noted as local within the last 30 s.
  [[nodiscard]] bool knows(const std::string& paths) const;
  void note(const std::string& paths);

  /// Asks the kernel, which may take long; any thread. False for relative paths. A missing path is judged by its
  /// nearest existing parent.
  [[nodiscard]] static bool are_local(const std::string& paths);

 private:
  static constexpr std::chrono::seconds kLately{30};
  static constexpr std::size_t kMost = 64;

  std::unordered_map<std::string, SteadyTime> known_;
};

}  // namespace skiff::sessions
