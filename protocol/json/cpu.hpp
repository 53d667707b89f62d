#pragma once

#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
// The header is written for C.
#define _Bool bool  // NOLINT(bugprone-reserved-identifier)
#include <sys/platform/x86.h>
#undef _Bool
#endif

namespace skiff::protocol {

/// True when AVX2 code may run. glibc looked at start already: asking the processor again would cost some 10 us per
/// CPUID instruction in a nested virtual machine.
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
