#include "base/async/in_parallel.hpp"

#include <algorithm>

#include <boost/asio/this_coro.hpp>

#include "base/async/finally.hpp"
#include "base/async/task_group.hpp"

namespace skiff {
namespace {

Task<> one_after_the_other(std::size_t* next, std::size_t count, const std::function<Task<>(std::size_t)>* work) {
  while (*next < count) {
    const std::size_t index = (*next)++;
    co_await (*work)(index);
  }
}

}  // namespace

Task<> in_parallel(std::size_t count, std::size_t at_once, std::function<Task<>(std::size_t)> work) {
  std::size_t next = 0;
  TaskGroup group{co_await boost::asio::this_coro::executor};
  auto run = [&](this auto) -> Task<> {
    for (std::size_t i = 0; i < std::min(count, at_once); ++i) {
      group.spawn("in parallel", one_after_the_other(&next, count, &work));
    }
    co_await group.join();
  };
  // The tasks refer to this frame, so they are joined even if the caller is cancelled.
  co_await finally(std::move(run), [&] { return end_tasks(&group); });
}

}  // namespace skiff
