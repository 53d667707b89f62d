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
  /// `percent` of the limit is too much; 0: never. The other arguments outlive this.
  EarlyOom(sessions::Supervisor& supervisor, const sessions::Registry& registry, unsigned percent);

  /// To be called when the first command begins to live, and when none does any more.
  void live_changed();

 private:
  [[nodiscard]] Task<> end_largest_command();

  sessions::Supervisor& supervisor_;
  const sessions::Registry& registry_;
  bool is_on_;
  sessions::MemoryGuard guard_;
  Deadline start_;                           ///< a command that is over at once is not worth a look at the memory
  std::weak_ptr<sessions::Command> ending_;  ///< the command that this is ending
  std::size_t looks_ = 0;                    ///< under way, at most one
};

}  // namespace skiff::runtime
