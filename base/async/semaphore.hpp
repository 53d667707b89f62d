#pragma once

#include <cstddef>
#include <list>
#include <memory>

#include "base/async/event.hpp"
#include "base/async/task.hpp"

namespace skiff {

/// Lets at most `permits` callers in at a time, first come, first served. Reactor thread only; it must outlive its
/// permits.
class Semaphore {
 public:
  Semaphore(Executor executor, std::size_t permits) : executor_{executor}, free_{permits} {}
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  /// A caller is inside for as long as its permit lives.
  class Permit {
   public:
    Permit(Permit&&) noexcept = default;
    Permit& operator=(Permit&&) = delete;
    ~Permit();

   private:
    friend class Semaphore;
    explicit Permit(Semaphore* of) : of_{of} {}
    struct Forget {
      void operator()(Semaphore*) const noexcept {}
    };
    std::unique_ptr<Semaphore, Forget> of_;  ///< null in a permit that was moved from
  };
  [[nodiscard]] Task<Permit> acquire();

 private:
  void wake_next() noexcept;

  Executor executor_;
  std::size_t free_;
  std::list<Event> waiting_;
};

}  // namespace skiff
