#pragma once

#include <optional>

#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/serve/route.hpp"

namespace skiff::container::serve::own {

/// Whether a client may go on reading a stream without end.
class ReaderRight {
 public:
  /// `call` must outlive it.
  explicit ReaderRight(Call* call) : call_{call} {}

  /// Why the stream ends now: the key has ended, or this server is about to stop; nullopt: it goes on.
  [[nodiscard]] Task<std::optional<Error>> find_end();

 private:
  [[nodiscard]] Task<bool> holds();

  Call* call_;
  SteadyTime reviewed_at_ = std::chrono::steady_clock::now();
};

}  // namespace skiff::container::serve::own
