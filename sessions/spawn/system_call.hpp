#pragma once

// Marks code that runs in a child on the agent's memory, or before the C library is ready. Sanitizers must not
// instrument it: they would see the suspended thread on a foreign stack.
#define SKIFF_CHILD __attribute__((no_sanitize("address", "thread", "undefined"), disable_sanitizer_instrumentation))

namespace skiff::sessions {

/// Makes a system call without the C library, which may not be ready yet. Returns the kernel's result, -errno on
/// failure.
SKIFF_CHILD inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
#if defined(__x86_64__)
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result = number;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#else
#error "add the system call instruction of this machine"
#endif
}

SKIFF_CHILD inline long as_long(const void* pointer) {
  return reinterpret_cast<long>(pointer);
}

}  // namespace skiff::sessions
