#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skiff::runtime {

/// What ends an agent.
enum class EndCause : std::uint8_t {
  lease,     ///< its lease or its idle time is over
  workload,  ///< the program beside it has ended
  signal,    ///< somebody outside: a drain, an eviction, `docker stop`
  failure,   ///< it can't go on
};

/// As the log and the last word have it.
[[nodiscard]] const char* word_of(EndCause cause) noexcept;

/// Writes down why the agent ends, as JSON, into a file that is there already: a kubelet passes on what it finds in its
/// own (Pod.spec.containers[].terminationMessagePath). Whoever looks at what is left then need not guess. What can't be
/// written is not: then nobody has said why.
void write_last_word(const std::string& file, EndCause cause, std::string_view why) noexcept;

}  // namespace skiff::runtime
