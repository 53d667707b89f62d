#pragma once

#include <algorithm>
#include <cstddef>

namespace skiff::sessions {

/// How many bytes one stream may move before the others, and a waiting health check, get their turn on the reactor:
/// large blocks while few streams flow, small ones while many do, so that one round stays a few milliseconds long.
/// Reactor thread only.
class TurnShare {
 public:
  static constexpr std::size_t kMost = std::size_t{256} << 10U;
  static constexpr std::size_t kLeast = std::size_t{32} << 10U;

  [[nodiscard]] std::size_t bytes() const noexcept {
    return std::clamp(2 * kMost / std::max<std::size_t>(flowing_, 1), kLeast, kMost);
  }

  /// Counts a stream while it has more to move than one turn allows.
  class Flow {
   public:
    explicit Flow(TurnShare& share) noexcept : share_{share} {}
    ~Flow() { set(false); }
    Flow(const Flow&) = delete;
    Flow& operator=(const Flow&) = delete;
    void set(bool flowing) noexcept {
      if (flowing != flowing_) share_.flowing_ += flowing ? std::size_t{1} : ~std::size_t{0};
      flowing_ = flowing;
    }

   private:
    TurnShare& share_;
    bool flowing_ = false;
  };

 private:
  std::size_t flowing_ = 0;
};

}  // namespace skiff::sessions
