#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>

#include "base/event.hpp"
#include "base/task.hpp"

namespace skiff {

/// Runs `work` for 0 to `count` - 1, at most `at_once` at a time, and ends when all have ended. Cancellation of the
/// caller cancels them. The tasks of `work` must not throw anything but their cancellation.
[[nodiscard]] Task<> in_parallel(std::size_t count, std::size_t at_once, std::function<Task<>(std::size_t)> work);

/// Lets at most `places` callers in at a time, first come, first served. Reactor thread only; it must outlive its
/// places.
class Turnstile {
 public:
  Turnstile(Executor executor, std::size_t places) : executor_{executor}, free_{places} {}
  Turnstile(const Turnstile&) = delete;
  Turnstile& operator=(const Turnstile&) = delete;

  /// A caller is inside for as long as its place lives.
  class Place {
   public:
    Place(Place&&) noexcept = default;
    Place& operator=(Place&&) = delete;
    ~Place();

   private:
    friend class Turnstile;
    explicit Place(Turnstile* of) : of_{of} {}
    struct Forget {
      void operator()(Turnstile*) const noexcept {}
    };
    std::unique_ptr<Turnstile, Forget> of_;  ///< null in a place that was moved from
  };
  [[nodiscard]] Task<Place> enter();

 private:
  void wake_next() noexcept;

  Executor executor_;
  std::size_t free_;
  std::list<Event> waiting_;
};

}  // namespace skiff
