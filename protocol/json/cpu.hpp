#pragma once

#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
// The header is written for C.
#define _Bool bool  // NOLINT(bugprone-reserved-identifier)
#include <sys/platform/x86.h>
#undef _Bool
#endif

namespace skiff::protocol {

/// Returns true when AVX2 code may run. It reads glibc's result from the start of the program: each CPUID instruction
/// costs some 10 us in a nested virtual machine.
inline bool has_avx2() noexcept {
#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
  return CPU_FEATURE_ACTIVE(AVX2) != 0;
#elif defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

}  // namespace skiff::protocol
