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

/// The agent's own limits of resources (getrlimit(2)) as they were at its start. Its commands inherit them, and any
/// process of its uid can lower them by prlimit(2). That may happen between two looks at them, and the next step of the
/// agent may need memory. So operator new looks at them, too, where there is no memory (std::set_new_handler). At most
/// one object at a time.
class OwnLimits {
 public:
  /// Remembers those of now.
  OwnLimits();
  ~OwnLimits();
  OwnLimits(const OwnLimits&) = delete;
  OwnLimits& operator=(const OwnLimits&) = delete;

  struct Kept {
    bool restored = false;  ///< soft limits had been lowered, and are as before since the last time
    /// The name of one that is below what it was and without which the agent can't do its work; empty: none. Only
    /// CAP_SYS_RESOURCE raises a hard limit again.
    std::string_view lost = {};
  };

  /// Takes back what was lowered, as far as it can be had. One system call where nothing was. When a limit is lost, the
  /// heap gets memory that was kept for that: the agent still has to end its commands and to say why.
  [[nodiscard]] Kept keep();

 private:
  /// Restores soft limits; where a limit is lost, gives one piece of the reserve to the heap, so that some is left for
  /// the agent's end. Any thread. Throws std::bad_alloc when it has nothing more to give.
  static void look_for_memory();
  [[nodiscard]] bool make_room() noexcept;
  [[nodiscard]] Kept take_back() noexcept;
  void give_reserve(std::size_t pieces) noexcept;

  std::mutex mutex_;
  std::array<rlimit, RLIM_NLIMITS> limits_{};
  UniqueFd file_;     ///< /proc/self/limits; may be absent
  std::string text_;  ///< what it said
  std::vector<std::unique_ptr<char[]>> reserve_;
  bool restored_meanwhile_ = false;  ///< by `make_room`; `keep` has not reported it yet
};

}  // namespace skiff::runtime
