#pragma once

#include <algorithm>
#include <cstddef>
#include <set>

#include "base/async/event.hpp"
#include "base/async/task.hpp"

namespace skiff::test {

/// Work that goes on only when it is told to.
struct GatedWork {
  explicit GatedWork(Executor executor) : opened{executor} {}
  Event opened;
  std::set<std::size_t> begun;
  std::size_t at_work = 0;
  std::size_t most_at_work = 0;

  Task<> run(std::size_t index) {
    begun.insert(index);
    most_at_work = std::max(most_at_work, ++at_work);
    co_await opened.wait();
    --at_work;
  }
};

}  // namespace skiff::test
