#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "base/in_parallel.hpp"
#include "base/task.hpp"

namespace skiff {

/// Lets at most `places` callers in at a time, and `of_one` of each holder: a holder with many requests never blocks
/// the next holder. Reactor thread only; it must outlive its places.
class FairTurnstile {
 public:
  FairTurnstile(Executor executor, std::size_t places, std::size_t of_one = 1)
      : executor_{executor}, of_one_{of_one}, all_{executor, places} {}

  /// A caller is inside for as long as its place lives.
  struct Place {
    std::shared_ptr<Turnstile> holder;
    Turnstile::Place of_holder;
    Turnstile::Place of_all;
  };
  [[nodiscard]] Task<Place> enter(std::string who);
  /// The number of holders that have a place or wait for one.
  [[nodiscard]] std::size_t holders();

 private:
  Executor executor_;
  const std::size_t of_one_;
  Turnstile all_;
  std::map<std::string, std::weak_ptr<Turnstile>> holders_;
  std::size_t swept_at_ = 64;
};

}  // namespace skiff
