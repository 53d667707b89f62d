#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "container/drivers/box/steps.hpp"

namespace skiff::container::box {

/// What this machine says about user namespaces. It only chooses the words: whether a box can be made shows a trial.
struct Circumstances {
  bool is_root = false;
  bool is_container = false;                     ///< marks of a container were found
  bool is_filtered = false;                      ///< a seccomp filter applies to this process
  bool is_chroot = false;                        ///< the root directory is not that of the mount namespace
  bool apparmor_restricts = false;               ///< kernel.apparmor_restrict_unprivileged_userns=1
  std::optional<std::uint64_t> most_namespaces;  ///< user.max_user_namespaces
  std::optional<std::uint64_t> userns_clone;     ///< kernel.unprivileged_userns_clone of Debian's older kernels
  int kernel = 0;                                ///< as `kernel_version` says
};

[[nodiscard]] Circumstances look_around();
/// The kernel's version as MAJOR * 1000 + MINOR; 0 if it is unknown.
[[nodiscard]] int kernel_version() noexcept;

/// Why no box can be made, and what to do about it.
struct Reason {
  std::string why;          ///< one line
  std::string remedy = {};  ///< lines, without a newline at the end; other drivers come last
};

/// Explains a refusal in these circumstances.
[[nodiscard]] Reason explain(const Refusal& refusal, const Circumstances& here);

}  // namespace skiff::container::box
