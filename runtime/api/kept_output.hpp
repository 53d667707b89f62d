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

/// A command's output so far, by stream: all of it, or its beginning and its end, cut between characters.
struct KeptOutput {
  std::string out;
  std::string err;
  std::uint64_t omitted_out = 0;  ///< bytes that are missing from `out`
  std::uint64_t omitted_err = 0;
  std::uint64_t next = 0;  ///< offset in the log after this output
};

/// Output of more bytes is processed in several steps, because it takes longer than a turn of the reactor may.
inline constexpr std::uint64_t kLargeOutput = std::uint64_t{1} << 20U;

/// Waits for a permit to compose a large answer: acquire it before reading the output, and hold it until the answer is
/// complete. Only a few large answers are composed at a time, because one takes several times its size until then.
/// Output that is not large needs no permit: the result is empty at once. Do not hold a permit while waiting for a
/// client.
[[nodiscard]] Task<std::optional<FairSemaphore::Permit>> turn_to_answer(FairSemaphore* turns, std::string who,
                                                                        std::shared_ptr<sessions::Command> command,
                                                                        std::size_t max_bytes);

/// Reads the command's log up to its current end, at most `max_bytes` of each stream. It leaves out what background
/// processes wrote after the exit.
[[nodiscard]] Task<KeptOutput> kept_output(std::shared_ptr<sessions::Command> command, std::size_t max_bytes);

}  // namespace skiff::runtime::api
