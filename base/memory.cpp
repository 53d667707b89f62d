#include "base/memory.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstddef>

namespace skiff {

void give_memory_back() noexcept {
#if defined(__GLIBC__)
  constexpr std::size_t kWorthIt = std::size_t{8} << 20U;
  const struct mallinfo2 heap = ::mallinfo2();
  if (heap.fordblks > std::max(kWorthIt, heap.uordblks)) ::malloc_trim(0);
#endif
}

}  // namespace skiff
