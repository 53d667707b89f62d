#pragma once

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/event.hpp"
#include "base/shares.hpp"
#include "base/task.hpp"
#include "base/task_group.hpp"

namespace skiff::container::serve {

/// A tenant has at most as many as the others leave free, so half of all when he is alone: one whose sandboxes hang
/// always leaves some to the next.
struct WakeLimits {
  std::chrono::milliseconds patience{30'000};  ///< longest time that a request is held
  std::size_t waiting = 1'000;                 ///< requests that are held, of all tenants together
  std::size_t at_once = 32;                    ///< sandboxes that are being started, of all tenants together
};

/// Starts sandboxes that were stopped, each once however many requests ask for it: the first one starts it, and all of
/// them wait. Only for whoever may use the sandbox. Reactor thread only.
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

  /// Ends when the sandbox runs, or its start has failed: with that error. `start` runs by itself, so that it goes on
  /// when whoever has asked first leaves, and has to end by itself. `sandbox_starting` when it takes longer than the
  /// patience, or when too much is going on, of all or of this tenant: ask again. `left` is run beside the wait: when
  /// it gives true nobody wants to know any more, and the wait is `cancelled`.
  [[nodiscard]] Task<Result<>> wake(Which which, Start start, Task<bool> left);

  /// Ends the starts that are under way, and waits until they have ended. Call it before the object goes away.
  [[nodiscard]] Task<> stop();

  [[nodiscard]] std::size_t starting() const noexcept { return starts_.size(); }
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.used(); }
  /// What it knows of tenants: of those alone for whom something is going on.
  [[nodiscard]] std::size_t tenants() const noexcept { return std::max(starting_.holders(), waiting_.holders()); }

 private:
  struct Started;
  [[nodiscard]] bool has_room(const std::string& tenant, bool starts) const;
  [[nodiscard]] Task<> run(Which which, std::shared_ptr<Started> started, Start start);
  [[nodiscard]] Task<Result<>> wait(std::shared_ptr<Started> started, const bool* gone);

  Executor executor_;
  WakeLimits limits_;
  TaskGroup tasks_;
  std::map<Which, std::shared_ptr<Started>> starts_;  ///< that are under way
  Shares starting_;
  Shares waiting_;
};

}  // namespace skiff::container::serve
