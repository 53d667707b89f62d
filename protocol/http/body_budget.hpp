#pragma once

#include <algorithm>
#include <cstddef>

namespace skiff::protocol {

/// The memory that bodies may take while they are read as a whole, of all connections together: each connection's limit
/// is a promise, and the sum of the promises is more than there is. Reactor thread only.
class BodyBudget {
 public:
  /// Of one body, so much is counted for nobody: small ones always find room.
  static constexpr std::size_t kFree = 64 * 1024;

  explicit BodyBudget(std::size_t most) : most_{most} {}

  /// What one body holds. The budget must outlive it.
  class Share {
   public:
    explicit Share(BodyBudget* budget) : budget_{budget} {}
    ~Share() {
      if (budget_ != nullptr) budget_->held_ -= held_;
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// The body is to have `bytes` of memory in all. False: the others leave no room for it. One body alone has room.
    [[nodiscard]] bool grow_to(std::size_t bytes) {
      const std::size_t counted = bytes - std::min(bytes, kFree);
      if (budget_ == nullptr || counted <= held_) return true;
      const std::size_t others = budget_->held_ - held_;
      if (others > 0 && others + counted > budget_->most_) return false;
      budget_->held_ = others + counted;
      held_ = counted;
      return true;
    }

   private:
    BodyBudget* budget_;  ///< none: without a limit
    std::size_t held_ = 0;
  };

 private:
  const std::size_t most_;
  std::size_t held_ = 0;
};

}  // namespace skiff::protocol
