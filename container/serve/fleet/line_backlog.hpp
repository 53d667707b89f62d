#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace skiff::container::serve {

/// Lines that wait for one reader. If they become too many, the oldest are dropped, and a line says so in their place.
class LineBacklog {
 public:
  /// `missing` is the line that stands for dropped ones.
  LineBacklog(std::size_t most_bytes, std::string missing) : most_{most_bytes}, missing_{std::move(missing)} {}

  /// Adds whole lines.
  void add(std::string_view lines);
  /// Takes the oldest lines without their ends, some KiB of them; none if none wait.
  [[nodiscard]] std::deque<std::string> take();

 private:
  std::size_t most_;
  std::string missing_;
  std::deque<std::string> lines_;
  std::size_t bytes_ = 0;
  bool misses_ = false;
};

}  // namespace skiff::container::serve
