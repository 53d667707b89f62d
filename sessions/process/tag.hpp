#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace skiff::sessions {

/// A value of RLIMIT_RTTIME, in microseconds, that marks all processes of one command (docs/adr/0005): inherited by
/// fork, exec and setsid, readable on any process of the same uid with prlimit(2). It is above 2^40 us, twelve days
/// that a real-time thread would have to run without blocking, so it limits no program in practice.
///
/// The tags of an outermost agent end in 32 one bits. An agent inside a command can only use lower values, and gives
/// its commands tags with the same upper half; so the outer agent finds them, too.
using Tag = std::uint64_t;

/// Generates unique tags. The first is random, so that the tags of two agents with the same uid do not collide.
class TagSource {
 public:
  /// Reads this process's hard limit, which tags must not exceed.
  TagSource();
  /// Assumes that the hard limit is `hard`, for tests.
  explicit TagSource(std::uint64_t hard);

  [[nodiscard]] Tag next() noexcept;

 private:
  std::uint64_t first_ = 0;
  std::uint64_t count_ = 1;
  std::uint64_t position_ = 0;
  unsigned shift_ = 0;
};

/// The hard RLIMIT_RTTIME of `pid`, also for a process of another uid; empty when no such process exists.
[[nodiscard]] std::optional<std::uint64_t> mark_of(pid_t pid);

/// Whether a mark is in the range of tags.
[[nodiscard]] bool is_tag(std::uint64_t mark) noexcept;

/// Whether a process with that mark belongs to the command with `tag`, directly or through an agent inside it.
[[nodiscard]] bool belongs(std::uint64_t mark, Tag tag) noexcept;

}  // namespace skiff::sessions
