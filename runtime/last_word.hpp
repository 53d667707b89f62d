#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skiff::runtime {

/// The cause of an agent's end.
enum class EndCause : std::uint8_t {
  lease,     ///< the lease or the idle time is over
  workload,  ///< the workload has ended
  signal,    ///< a signal from outside: a drain, an eviction, `docker stop`
  failure,   ///< the agent cannot go on
};

/// The name in the log and in the termination log.
[[nodiscard]] const char* word_of(EndCause cause) noexcept;

/// Writes why the agent ends, as JSON, to an existing file. The kubelet reports the content of its file in the status
/// of the Pod (Pod.spec.containers[].terminationMessagePath). If the text cannot be written whole, the file is left
/// empty.
void write_last_word(const std::string& file, EndCause cause, std::string_view why) noexcept;

}  // namespace skiff::runtime
