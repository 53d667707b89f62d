#include "sessions/process/warm/preload.hpp"

#include "base/embedded_file.hpp"

SKIFF_EMBED_FILE(skiff_wait_library, SKIFF_WAIT_LIBRARY)

namespace skiff::sessions {

std::string_view wait_library() noexcept {
  return skiff_wait_library();
}

}  // namespace skiff::sessions
