#pragma once

namespace skiff {

/// Marks what the reactor waits for on purpose. The tests watch that it waits for nothing else
/// (tests/support/reactor_watch.cpp). Reactor thread only.
class DeliberateWait {
 public:
  DeliberateWait() noexcept { ++count; }

  inline static unsigned long count = 0;  ///< so far
};

}  // namespace skiff
