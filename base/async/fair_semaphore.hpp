#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "base/async/semaphore.hpp"
#include "base/async/task.hpp"

namespace skiff {

/// Lets at most `permits` callers in at a time, and `of_one` of each holder: a holder with many requests never blocks
/// the next holder. Reactor thread only; it must outlive its permits.
class FairSemaphore {
 public:
  FairSemaphore(Executor executor, std::size_t permits, std::size_t of_one = 1)
      : executor_{executor}, of_one_{of_one}, all_{executor, permits} {}

  /// A caller is inside for as long as its permit lives.
  struct Permit {
    std::shared_ptr<Semaphore> holder;
    Semaphore::Permit of_holder;
    Semaphore::Permit of_all;
  };
  [[nodiscard]] Task<Permit> acquire(std::string who);
  /// The number of holders that have a permit or wait for one.
  [[nodiscard]] std::size_t holders();

 private:
  Executor executor_;
  const std::size_t of_one_;
  Semaphore all_;
  std::map<std::string, std::weak_ptr<Semaphore>> holders_;
  std::size_t swept_at_ = 64;
};

}  // namespace skiff
