#pragma once

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/async/event.hpp"
#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/error.hpp"
#include "base/shares.hpp"

namespace skiff::container::serve {

/// Limits of `Wakes`. A tenant may use at most half of what the others leave free, so a tenant whose sandboxes hang
/// always leaves some to others.
struct WakeLimits {
  std::chrono::milliseconds patience{30'000};  ///< longest time that a request is held
  std::size_t waiting = 1'000;                 ///< requests that are held, of all tenants together
  std::size_t at_once = 32;                    ///< sandboxes that are being started, of all tenants together
};

/// Starts stopped sandboxes. If several requests need a sandbox, the first one starts it, and all of them wait. The
/// caller has checked that the client may use the sandbox. Reactor thread only.
class Wakes {
 public:
  using Start = std::function<Task<Result<>>()>;
  struct Which {
    std::string tenant;
    std::string sandbox;
    auto operator<=>(const Which&) const = default;
  };

  Wakes(Executor executor, WakeLimits limits);
  Wakes(const Wakes&) = delete;
  Wakes& operator=(const Wakes&) = delete;

  /// Waits until the sandbox runs, or returns the error of its start. `start` runs in the background: it goes on when
  /// the first caller leaves, and must end by itself. `sandbox_starting` if it takes longer than the patience, or if
  /// there are too many starts or waiting requests of all tenants or of this one: try again. `left` runs during the
  /// wait: when it returns true, the client has left, and the wait is `cancelled`.
  [[nodiscard]] Task<Result<>> wake(Which which, Start start, Task<bool> left);

  /// Ends the starts that are under way, and waits for their ends. Call it before the object is destroyed.
  [[nodiscard]] Task<> stop();

  [[nodiscard]] std::size_t starting() const noexcept { return starts_.size(); }
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.used(); }
  /// Number of known tenants: only those with starts or waiting requests.
  [[nodiscard]] std::size_t tenants() const noexcept { return std::max(starting_.holders(), waiting_.holders()); }

 private:
  struct Started;
  [[nodiscard]] bool has_room(const std::string& tenant, bool starts) const;
  [[nodiscard]] Task<> run(Which which, std::shared_ptr<Started> started, Start start);
  [[nodiscard]] Task<Result<>> wait(std::shared_ptr<Started> started, const bool* gone);

  Executor executor_;
  WakeLimits limits_;
  TaskGroup tasks_;
  std::map<Which, std::shared_ptr<Started>> starts_;  ///< starts that are under way
  Shares starting_;
  Shares waiting_;
};

}  // namespace skiff::container::serve
