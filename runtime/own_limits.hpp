#pragma once

#include <sys/resource.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"

namespace skiff::runtime {

/// The agent's own limits of resources (getrlimit(2)) as they were at its start. Its commands inherit them, and any
/// process of its uid can lower them by prlimit(2).
class OwnLimits {
 public:
  /// Remembers those of now.
  OwnLimits();

  struct Kept {
    bool restored = false;  ///< soft limits had been lowered
    /// The name of one that is below what it was and without which the agent can't do its work; empty: none. Only
    /// CAP_SYS_RESOURCE raises a hard limit again.
    std::string_view lost = {};
  };

  /// Takes back what was lowered, as far as it can be had. One system call where nothing was. When a limit is lost, the
  /// heap gets memory that was kept for that: the agent still has to end its commands and to say why.
  [[nodiscard]] Kept keep();

 private:
  std::array<rlimit, RLIM_NLIMITS> limits_{};
  UniqueFd file_;     ///< /proc/self/limits; may be absent
  std::string text_;  ///< what it said
  std::vector<std::unique_ptr<char[]>> reserve_;
};

}  // namespace skiff::runtime
