#include "sessions/wait_library.hpp"

// The build makes the file (CMakeLists.txt).
__asm__(
    ".pushsection .rodata\n"
    "skiff_wait_library_begin:\n"
    ".incbin \"" SKIFF_WAIT_LIBRARY
    "\"\n"
    "skiff_wait_library_end:\n"
    ".globl skiff_wait_library_begin, skiff_wait_library_end\n"
    ".popsection\n");

extern "C" {
extern const char skiff_wait_library_begin[];
extern const char skiff_wait_library_end[];
}

namespace skiff::sessions {

std::string_view wait_library() noexcept {
  return {skiff_wait_library_begin, skiff_wait_library_end};
}

}  // namespace skiff::sessions
