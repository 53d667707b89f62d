#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>

#include "base/event.hpp"
#include "base/task.hpp"

namespace skiff {

/// Runs `work` for 0 to `count` - 1, at most `at_once` of them at a time, and ends when all have ended: when the caller
/// is cancelled, so are they. What `work` returns must not throw but by its cancellation.
[[nodiscard]] Task<> in_parallel(std::size_t count, std::size_t at_once, std::function<Task<>(std::size_t)> work);

/// Lets only so many in at a time, first come first served: for a part of what any number do at once. Reactor thread
/// only; it must outlive its places.
class Turnstile {
 public:
  Turnstile(Executor executor, std::size_t places) : executor_{executor}, free_{places} {}
  Turnstile(const Turnstile&) = delete;
  Turnstile& operator=(const Turnstile&) = delete;

  /// Whoever has one is in; it leaves when this goes away.
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
    std::unique_ptr<Turnstile, Forget> of_;  ///< a moved-from place has none
  };
  [[nodiscard]] Task<Place> enter();

 private:
  void wake_next() noexcept;

  Executor executor_;
  std::size_t free_;
  std::list<Event> waiting_;
};

}  // namespace skiff
