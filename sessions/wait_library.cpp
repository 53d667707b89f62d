#include "sessions/wait_library.hpp"

// The build makes the file (CMakeLists.txt).
__asm__(
    ".pushsection .rodata\n"
    "kSkiffWaitLibraryBegin:\n"
    ".incbin \"" SKIFF_WAIT_LIBRARY
    "\"\n"
    "kSkiffWaitLibraryEnd:\n"
    ".globl kSkiffWaitLibraryBegin, kSkiffWaitLibraryEnd\n"
    ".popsection\n");

extern "C" {
extern const char kSkiffWaitLibraryBegin[];
extern const char kSkiffWaitLibraryEnd[];
}

namespace skiff::sessions {

std::string_view wait_library() noexcept {
  return {kSkiffWaitLibraryBegin, kSkiffWaitLibraryEnd};
}

}  // namespace skiff::sessions
