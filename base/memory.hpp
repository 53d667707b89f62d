#pragma once

namespace skiff {

/// Lets the system have what a burst has left: memory that is free in the heap, if it is much and more than what is in
/// use. What is younger than the burst would hold it there else.
void give_memory_back() noexcept;

}  // namespace skiff
