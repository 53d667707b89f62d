#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/shares.hpp"

namespace skiff::protocol {

/// What is told whoever finds no room.
inline constexpr std::string_view kNoReceiveRoom =
    "what is being received takes all the memory that there is for it: send less at a time, or try again later";

/// The memory of all that was received and is not yet used: heads, bodies and messages that are not whole, blocks that
/// a receiver keeps waiting. Each connection's limit is a promise, and the sum of the promises is more than there is.
/// When the budget is used up, those give theirs up who have had it for longer than their patience, and then the holder
/// who has the most, if he keeps more than twice what he makes room for; so do the shares of one holder among each
/// other. Reactor thread only.
class ReceiveBudget {
 public:
  /// Of one share, so much is counted for nobody: what is small always finds room.
  static constexpr std::size_t kFree = 64 * 1024;

  explicit ReceiveBudget(std::size_t most) : by_holder_{most} {}
  ReceiveBudget(const ReceiveBudget&) = delete;
  ReceiveBudget& operator=(const ReceiveBudget&) = delete;

  [[nodiscard]] std::size_t used() const noexcept { return by_holder_.used(); }

  struct Terms {
    const std::string* who = nullptr;  ///< whose it is, when it begins to hold something; must outlive the share
    /// What is not used within it, whatever its pace, is lost once another one needs the room: else whoever sends a few
    /// bytes now and then keeps it from all others.
    std::chrono::milliseconds patience{0};
    std::size_t free = kFree;
  };

  /// What one of them holds. The budget must outlive it.
  class Share {
   public:
    /// Without a budget there is no limit. `lost` is called when others get its room; it must not destroy a share.
    Share(ReceiveBudget* budget, Terms terms, std::function<void()> lost);
    ~Share() { release(); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// From now on it has `bytes` of memory in all. False: the others leave no room for it, or it has lost its own. One
    /// alone has room.
    [[nodiscard]] bool hold(std::size_t bytes);
    /// The same, of what nobody has.
    [[nodiscard]] bool hold_if_free(std::size_t bytes);
    [[nodiscard]] bool is_lost() const noexcept { return is_lost_; }

   private:
    friend class ReceiveBudget;
    [[nodiscard]] std::size_t counted(std::size_t bytes) const noexcept {
      return bytes > terms_.free ? bytes - terms_.free : 0;
    }
    void set(std::size_t counted);
    void release() noexcept;
    [[nodiscard]] std::string_view who() const noexcept;

    ReceiveBudget* budget_;
    Terms terms_;
    std::function<void()> lost_;
    std::size_t held_ = 0;
    Shares::Part part_;
    SteadyTime since_{};                   ///< when it began to hold something
    std::list<Share*>::iterator place_{};  ///< while it does
    bool is_lost_ = false;
  };

 private:
  /// How much more than there is it would be.
  [[nodiscard]] std::size_t missing(const Share& asking, std::size_t counted) const noexcept;
  /// Takes at least `bytes` from others, or nothing.
  [[nodiscard]] bool take(std::size_t bytes, const Share& asking, std::size_t counted);
  [[nodiscard]] std::vector<Share*> who_gives(std::size_t bytes, const Share& asking, std::size_t counted) const;

  Shares by_holder_;
  std::list<Share*> holding_;  ///< the longest first
};

}  // namespace skiff::protocol
