#pragma once

#include <sys/resource.h>

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"

namespace skiff::runtime {

/// The agent's own resource limits (getrlimit(2)) at its start. Its commands inherit them, and any process of its uid
/// can lower them by prlimit(2). That may happen at any time, and the agent's next step may need memory, so operator
/// new also checks them when an allocation fails (std::set_new_handler). At most one object may exist.
class OwnLimits {
 public:
  /// Remembers the current limits.
  OwnLimits();
  ~OwnLimits();
  OwnLimits(const OwnLimits&) = delete;
  OwnLimits& operator=(const OwnLimits&) = delete;

  struct Kept {
    bool restored = false;  ///< soft limits had been lowered since the last call, and were restored
    /// The name of a limit that the agent needs and that could not be restored; empty: none. Raising a hard limit again
    /// requires CAP_SYS_RESOURCE.
    std::string_view lost = {};
  };

  /// Restores lowered limits as far as possible; takes one system call if none was lowered. When a limit is lost, it
  /// frees the reserve to the heap: the agent still has to end its commands and to report why.
  [[nodiscard]] Kept keep();

 private:
  /// Restores soft limits. If a limit is lost, it frees one piece of the reserve, so that some is left for the agent's
  /// end. Any thread. Throws std::bad_alloc when it can free no more.
  static void look_for_memory();
  [[nodiscard]] bool make_room() noexcept;
  [[nodiscard]] Kept take_back() noexcept;
  void give_reserve(std::size_t pieces) noexcept;

  std::mutex mutex_;
  std::array<rlimit, RLIM_NLIMITS> limits_{};
  UniqueFd file_;     ///< /proc/self/limits; may be absent
  std::string text_;  ///< content of the file at the start
  std::vector<std::unique_ptr<char[]>> reserve_;
  bool restored_meanwhile_ = false;  ///< `make_room` restored a limit, which `keep` has not reported yet
};

}  // namespace skiff::runtime
