#pragma once

#include <cstddef>
#include <memory>

#include "base/async/deadline.hpp"
#include "sessions/host/memory_guard.hpp"
#include "sessions/registry.hpp"
#include "sessions/supervisor.hpp"

namespace skiff::runtime {

/// Ends the largest command before the memory is used up, so that the container's OOM killer does not end them all.
/// Reactor thread only.
class EarlyOom {
 public:
  /// Acts at `percent` of the memory limit; 0: never. The other arguments must outlive this.
  EarlyOom(sessions::Supervisor& supervisor, const sessions::Registry& registry, unsigned percent);

  /// Call it when the first command starts, and when the last one has ended.
  void live_changed();

 private:
  [[nodiscard]] Task<> end_largest_command();

  sessions::Supervisor& supervisor_;
  const sessions::Registry& registry_;
  bool is_on_;
  sessions::MemoryGuard guard_;
  Deadline start_;                           ///< starts the guard, unless the commands end at once
  std::weak_ptr<sessions::Command> ending_;  ///< the command that this is ending
  std::size_t looks_ = 0;                    ///< looks that run; at most one
};

}  // namespace skiff::runtime
