#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/async/fair_semaphore.hpp"
#include "base/async/task.hpp"
#include "sessions/command.hpp"

namespace skiff::runtime::api {

/// What a command has said so far, stream by stream: all of it, or its beginning and its end, cut between characters.
struct KeptOutput {
  std::string out;
  std::string err;
  std::uint64_t omitted_out = 0;  ///< bytes that are missing from `out`
  std::uint64_t omitted_err = 0;
  std::uint64_t next = 0;  ///< where the log goes on after what was looked at
};

/// What takes longer than a turn of the reactor may: it goes step by step.
inline constexpr std::uint64_t kLargeOutput = std::uint64_t{1} << 20U;

/// To be had, and kept until its answer is whole, before reading the output of a command that may be large. Only a few
/// large answers are made at a time, however many are asked for: until it is whole, one takes several times its size.
/// Nothing is waited for, and nothing given, for one that is not large. It must not be held while a client is waited
/// for.
[[nodiscard]] Task<std::optional<FairSemaphore::Permit>> turn_to_answer(FairSemaphore* turns, std::string who,
                                                                        std::shared_ptr<sessions::Command> command,
                                                                        std::size_t max_bytes);

/// Reads the command's log up to where it is now, at most `max_bytes` of each stream. What a background process wrote
/// after the exit is not part of it.
[[nodiscard]] Task<KeptOutput> kept_output(std::shared_ptr<sessions::Command> command, std::size_t max_bytes);

}  // namespace skiff::runtime::api
