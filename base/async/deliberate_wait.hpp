#pragma once

namespace skiff {

/// Marks a wait of the reactor as deliberate. The tests check that the reactor waits for nothing else
/// (tests/support/reactor_watch.cpp). Reactor thread only.
class DeliberateWait {
 public:
  DeliberateWait() noexcept { ++count; }

  inline static unsigned long count = 0;  ///< waits so far
};

}  // namespace skiff
