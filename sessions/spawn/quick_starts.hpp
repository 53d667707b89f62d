#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <unordered_map>

#include "base/clock.hpp"

namespace skiff::sessions {

/// Remembers which programs started quickly a moment ago: they are in the page cache, so another start hardly blocks
/// its caller. Bounded; reactor thread only.
class QuickStarts {
 public:
  /// True when the last start of `program` was quick (500 us) and at most 5 s ago.
  [[nodiscard]] bool expects(const std::string& program) const;
  /// Notes that a start of `program` took `time` until it ran or failed.
  void note(const std::string& program, std::chrono::steady_clock::duration time);

 private:
  static constexpr std::chrono::microseconds kQuick{500};
  static constexpr std::chrono::seconds kLately{5};
  static constexpr std::size_t kMost = 64;

  std::unordered_map<std::string, SteadyTime> quick_;
};

}  // namespace skiff::sessions
