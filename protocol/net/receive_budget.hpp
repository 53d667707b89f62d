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

/// The message for a client that finds no room.
inline constexpr std::string_view kNoReceiveRoom =
    "the memory for received data is used up: send less at a time, or try again later";

/// The memory of received data that is not used yet: heads, incomplete bodies and messages, blocks whose receiver is
/// slow. The limits of all connections together exceed the available memory. When the budget is used up, shares that
/// were held for longer than their patience are lost first, then those of the holder with the most, if it keeps more
/// than twice the amount of the one that needs the room. The same rule applies among the shares of one holder. Reactor
/// thread only.
class ReceiveBudget {
 public:
  /// The bytes of one share that are not counted: small data always finds room.
  static constexpr std::size_t kFree = 64 * 1024;

  explicit ReceiveBudget(std::size_t most) : by_holder_{most} {}
  ReceiveBudget(const ReceiveBudget&) = delete;
  ReceiveBudget& operator=(const ReceiveBudget&) = delete;

  [[nodiscard]] std::size_t used() const noexcept { return by_holder_.used(); }

  struct Terms {
    const std::string* who = nullptr;  ///< holder when the share first holds bytes; must outlive the share
    /// A share that holds bytes for longer than this is lost once another one needs the room, whatever its progress:
    /// else a client that sends a few bytes now and then could keep the room from all others.
    std::chrono::milliseconds patience{0};
    std::size_t free = kFree;
  };

  /// The bytes that one user of the budget holds. The budget must outlive it.
  class Share {
   public:
    /// Without a budget there is no limit. `lost` is called when the room is given to others; it must not destroy a
    /// share.
    Share(ReceiveBudget* budget, Terms terms, std::function<void()> lost);
    ~Share() { release(); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// Sets the memory of the share to `bytes` in all. Returns false if there is no room, or if the share was lost. A
    /// single share always has room.
    [[nodiscard]] bool hold(std::size_t bytes);
    /// As `hold`, but takes no room from other shares.
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
    SteadyTime since_{};                   ///< time when it began to hold bytes
    std::list<Share*>::iterator place_{};  ///< valid while it holds bytes
    bool is_lost_ = false;
  };

 private:
  /// Returns how many bytes are missing if `asking` holds `counted`.
  [[nodiscard]] std::size_t missing(const Share& asking, std::size_t counted) const noexcept;
  /// Takes at least `bytes` from other shares, or nothing.
  [[nodiscard]] bool take(std::size_t bytes, const Share& asking, std::size_t counted);
  [[nodiscard]] std::vector<Share*> who_gives(std::size_t bytes, const Share& asking, std::size_t counted) const;

  Shares by_holder_;
  std::list<Share*> holding_;  ///< the longest hold first
};

}  // namespace skiff::protocol
