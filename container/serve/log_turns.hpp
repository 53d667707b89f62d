#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/in_parallel.hpp"
#include "base/task.hpp"

namespace skiff::container::serve {

/// A few logs are read at a time, however many ask: what an agent tells of one may be megabytes. A tenant has one turn
/// after the other, so those of one who asks for many are never in the way of the next. Reactor thread only; it must
/// outlive its turns.
class LogTurns {
 public:
  /// Of all tenants together.
  static constexpr std::size_t kAtOnce = 4;

  explicit LogTurns(Executor executor) : executor_{executor}, all_{executor, kAtOnce} {}

  /// Whoever has one may read; it ends when this goes away.
  struct Turn {
    Turnstile::Place of_tenant;
    Turnstile::Place of_all;
  };
  [[nodiscard]] Task<Turn> enter(std::string tenant);

 private:
  Executor executor_;
  Turnstile all_;
  std::map<std::string, Turnstile> tenants_;  ///< those who have asked once: whoever has a key is known
};

}  // namespace skiff::container::serve
