#pragma once

#include <string_view>

/// A file of the build as bytes of the program: `SKIFF_EMBED_FILE(skiff_notice, SKIFF_NOTICE)` in a source file, at the
/// top level, defines `std::string_view skiff_notice()` there. The name is one of the whole program's symbols; the path
/// is a string literal, which CMakeLists.txt gives together with OBJECT_DEPENDS.
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
