#pragma once

#include <chrono>

#include "base/async/deadline.hpp"
#include "base/async/task.hpp"

namespace skiff::test {

/// Waits until the condition is true; the test's own limit ends it.
template <class Condition>
Task<> once(Condition condition) {
  while (!condition()) co_await pause(std::chrono::milliseconds{1});
}

}  // namespace skiff::test
