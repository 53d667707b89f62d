#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/async/event.hpp"
#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/shares.hpp"
#include "container/serve/fleet/fleet.hpp"

namespace skiff::container::serve {

/// Whether a caller joins a bring-up that already runs in the background: it does if it accepts any sandbox of this id,
/// or if it has sent the same request, which is not empty.
struct RepeatedBringUp {
  bool wants_any = false;
  std::string request = {};
};

/// The sandboxes that this process is bringing up, for callers that wait for them or follow their progress. It is not
/// persistent: records say which sandboxes exist, and their state. Reactor thread only; it must outlive its calls.
class BringUps {
 public:
  /// A tenant, and the id of one of its sandboxes.
  using Which = std::pair<std::string, std::string>;
  using Work = std::function<Task<Result<Made>>(Progress)>;

  struct Step {
    Phase phase;
    std::string detail;  ///< at most `kLongestDetail` bytes
  };

  /// A bring-up, for callers that follow its progress.
  struct Watched {
    explicit Watched(Executor executor) : changed{executor} {}
    std::string request = {};                  ///< the request that has begun it
    std::deque<Step> steps = {};               ///< the newest steps, at most `kMostSteps`; never `ready`
    std::uint64_t forgotten = 0;               ///< number of steps before those
    std::optional<Result<Made>> outcome = {};  ///< empty: it goes on
    Event changed;
  };

  static constexpr std::size_t kMostSteps = 32;
  static constexpr std::size_t kLongestDetail = 500;
  /// Most bring-ups in the background; each tenant has a share of the free ones.
  static constexpr std::size_t kMostAtOnce = 1000;
  /// Number of failed bring-ups whose reason is kept.
  static constexpr std::size_t kKeptFailures = 256;

  explicit BringUps(Executor executor) : executor_{executor}, tasks_{executor} {}
  BringUps(const BringUps&) = delete;
  BringUps& operator=(const BringUps&) = delete;

  using Repeat = RepeatedBringUp;

  /// Does the work for the caller; if the caller is cancelled, the work is, too. A caller that joins waits for the
  /// bring-up in the background.
  [[nodiscard]] Task<Result<Made>> run(Which which, Work work, Repeat repeat = {});
  /// Begins the work in the background. Returns nullopt at its first step, when the sandbox can be seen, or its outcome
  /// if that comes first. Errors beside those of the work: resource_exhausted; sandbox_conflict if the caller does not
  /// join a running bring-up.
  [[nodiscard]] Task<Result<std::optional<Made>>> begin(Which which, Work work, Repeat repeat = {});

  /// The bring-up, or null if this process knows none.
  [[nodiscard]] std::shared_ptr<Watched> find(const Which& which) const;
  /// Why the last bring-up failed, if none has succeeded under this id since.
  [[nodiscard]] std::optional<Error> failure(const Which& which) const;

  /// Waits until no bring-up runs in the background, or until `until`.
  [[nodiscard]] Task<> finish(SteadyTime until);
  /// Cancels the bring-ups in the background, which remove what they have created. Call it before the object is
  /// destroyed.
  [[nodiscard]] Task<> stop();

 private:
  [[nodiscard]] Task<Result<Made>> watch(Which which, std::shared_ptr<Watched> watched, Work work);
  [[nodiscard]] Task<> run_alone(Which which, std::shared_ptr<Watched> watched, Work work);
  /// The result for a caller that joined: the sandbox does not count as new.
  [[nodiscard]] static Made joined(Made made);
  /// The bring-up that the caller joins, or null.
  [[nodiscard]] std::shared_ptr<Watched> joins(const Which& which, const Repeat& repeat) const;
  void note(const Which& which, const std::shared_ptr<Watched>& watched, Phase phase, std::string_view detail);
  void end(const Which& which, const std::shared_ptr<Watched>& watched, Result<Made> outcome);

  Executor executor_;
  TaskGroup tasks_;
  Shares at_once_{kMostAtOnce};
  std::map<Which, std::shared_ptr<Watched>> alone_;  ///< bring-ups in the background
  std::map<Which, std::shared_ptr<Watched>> seen_;   ///< bring-ups that go on or have failed
  std::deque<Which> failed_;                         ///< in the order of their ends; some may run again
};

}  // namespace skiff::container::serve
