#pragma once

#include <cstddef>
#include <cstdint>

namespace skiff::sessions {

/// What a waiting shell is told when its command comes: one message of its SOCK_SEQPACKET socket, this head, then the
/// words of argv and the environment, each ended by a NUL. The descriptors come beside it (SCM_RIGHTS): the working
/// directory first, then one for each of `targets`.
struct Takeover {
  static constexpr int kLibraryFd = 3;  ///< of a waiting shell: the library that makes it wait
  static constexpr int kSocketFd = 4;   ///< its end of the socket
  static constexpr std::size_t kMostBytes = std::size_t{96} << 10U;
  static constexpr std::size_t kMostVariables = 255;
  static constexpr std::size_t kMostTargets = 6;
  static constexpr std::size_t kMostLimits = 4;

  struct Limit {
    std::uint64_t resource = 0;
    std::uint64_t soft = 0;
    std::uint64_t hard = 0;
  };

  std::uint64_t words = 0;           ///< of argv
  std::uint64_t variables = 0;       ///< of the environment
  std::uint64_t word_bytes = 0;      ///< of argv, NULs included
  std::uint64_t variable_bytes = 0;  ///< of the environment, NULs included
  std::uint64_t target_count = 0;
  std::uint64_t limit_count = 0;
  std::int32_t targets[kMostTargets] = {};  ///< the numbers that the descriptors become
  Limit limits[kMostLimits] = {};
};

/// What a shell that can't become its command says, on the same socket, before it ends: nothing of the command has
/// begun. One that becomes it closes the socket.
struct TakeoverFailure {
  enum class Step : std::int32_t { message, directory, descriptors, limits, memory };
  Step step = Step::message;
  std::int32_t error = 0;  ///< errno
};

}  // namespace skiff::sessions
