#pragma once

namespace skiff {

/// Returns free heap memory to the system after a burst, if it is more than 8 MiB and more than the memory in use.
/// Without this call, younger allocations would keep it in the process.
void give_memory_back() noexcept;

}  // namespace skiff
