#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>

#include "base/clock.hpp"

namespace skiff::protocol {

/// The memory that bodies may take while they are read as a whole, of all connections together: each connection's limit
/// is a promise, and the sum of the promises is more than there is. Reactor thread only.
class BodyBudget {
 public:
  /// Of one body, so much is counted for nobody: small ones always find room.
  static constexpr std::size_t kFree = 64 * 1024;

  explicit BodyBudget(std::size_t most) : most_{most} {}
  BodyBudget(const BodyBudget&) = delete;
  BodyBudget& operator=(const BodyBudget&) = delete;

  /// What one body holds. The budget must outlive it.
  class Share {
   public:
    /// A body that comes for longer than `patience` loses its room once another one needs it, whatever its pace: else
    /// whoever sends a few bytes now and then keeps it from all others. `lost` is called then; it must not destroy a
    /// share.
    Share(BodyBudget* budget, std::chrono::milliseconds patience, std::function<void()> lost);
    ~Share() { release(); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// The body is to have `bytes` of memory in all. False: the others leave no room for it, or it has lost its own.
    /// One body alone has room.
    [[nodiscard]] bool grow_to(std::size_t bytes);
    [[nodiscard]] bool is_lost() const noexcept { return is_lost_; }

   private:
    friend class BodyBudget;
    void release() noexcept;

    BodyBudget* budget_;  ///< none: without a limit
    std::chrono::milliseconds patience_;
    std::function<void()> lost_;
    std::size_t held_ = 0;
    SteadyTime since_{};                   ///< when it began to hold something
    std::list<Share*>::iterator place_{};  ///< while it does
    bool is_lost_ = false;
  };

 private:
  /// Takes at least `bytes` from those that have held theirs for too long, or nothing.
  [[nodiscard]] bool take_from_slow(std::size_t bytes, const Share& asking);

  const std::size_t most_;
  std::size_t held_ = 0;
  std::list<Share*> holders_;  ///< the longest first
};

}  // namespace skiff::protocol
