#pragma once

#include <string_view>

/// Embeds a file of the build into the program: `SKIFF_EMBED_FILE(skiff_notice, SKIFF_NOTICE)` at the top level of a
/// source file defines `std::string_view skiff_notice()` there. The name becomes a global symbol of the program. The
/// path is a string literal that CMakeLists.txt defines together with OBJECT_DEPENDS.
#define SKIFF_EMBED_FILE(name, path)        \
  __asm__(".pushsection .rodata\n" #name    \
          "Begin:\n"                        \
          ".incbin \"" path "\"\n" #name    \
          "End:\n"                          \
          ".globl " #name "Begin, " #name   \
          "End\n"                           \
          ".popsection\n");                 \
  extern "C" {                              \
  extern const char name##Begin[];          \
  extern const char name##End[];            \
  }                                         \
  static std::string_view name() noexcept { \
    return {name##Begin, name##End};        \
  }
