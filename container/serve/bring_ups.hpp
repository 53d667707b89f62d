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

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/event.hpp"
#include "base/shares.hpp"
#include "base/task.hpp"
#include "base/task_group.hpp"
#include "container/serve/fleet.hpp"

namespace skiff::container::serve {

/// Who asks for what is being brought up by itself already: he waits for that with the others if he wants any of this
/// id, or has sent the same request, which is not empty.
struct RepeatedBringUp {
  bool wants_any = false;
  std::string request = {};
};

/// Sandboxes that this process brings up, for whoever waits for them or looks on. What it knows ends with it: that a
/// sandbox is there, and how it is, says its record. Reactor thread only; it must outlive its calls.
class BringUps {
 public:
  /// A tenant, and an id of his.
  using Which = std::pair<std::string, std::string>;
  using Work = std::function<Task<Result<Made>>(Progress)>;

  struct Step {
    Phase phase;
    std::string detail;  ///< at most `kLongestDetail` bytes
  };

  /// One of them, as those see it who look on.
  struct Watched {
    explicit Watched(Executor executor) : changed{executor} {}
    std::string request = {};                  ///< that has begun it
    std::deque<Step> steps = {};               ///< the newest, `kMostSteps` at most; never `ready`
    std::uint64_t forgotten = 0;               ///< steps before those
    std::optional<Result<Made>> outcome = {};  ///< none: it goes on
    Event changed;
  };

  static constexpr std::size_t kMostSteps = 32;
  static constexpr std::size_t kLongestDetail = 500;
  /// That go on by themselves: of each tenant as many as the others leave free.
  static constexpr std::size_t kMostAtOnce = 1000;
  /// That have failed, and of which the reason is still known.
  static constexpr std::size_t kKeptFailures = 256;

  explicit BringUps(Executor executor) : executor_{executor}, tasks_{executor} {}
  BringUps(const BringUps&) = delete;
  BringUps& operator=(const BringUps&) = delete;

  using Repeat = RepeatedBringUp;

  /// Does the work for the caller, and with him ends what he leaves; one that `joins` waits for what goes on by itself.
  [[nodiscard]] Task<Result<Made>> run(Which which, Work work, Repeat repeat = {});
  /// Begins the work, which goes on by itself: ends with its first step, from when on its sandbox can be seen, and
  /// gives nothing then; or with its outcome if that comes first. Errors beside those of the work: resource_exhausted;
  /// sandbox_conflict for one that does not join.
  [[nodiscard]] Task<Result<std::optional<Made>>> begin(Which which, Work work, Repeat repeat = {});

  /// Null when nothing of it can be seen here.
  [[nodiscard]] std::shared_ptr<Watched> find(const Which& which) const;
  /// Why the last one could not be brought up, if nothing has been brought up under this id since.
  [[nodiscard]] std::optional<Error> failure(const Which& which) const;

  /// Ends when nothing goes on by itself any more, or at that time.
  [[nodiscard]] Task<> finish(SteadyTime until);
  /// Gives up what still goes on, of which nothing is left then. Call it before the object goes away.
  [[nodiscard]] Task<> stop();

 private:
  [[nodiscard]] Task<Result<Made>> watch(Which which, std::shared_ptr<Watched> watched, Work work);
  [[nodiscard]] Task<> run_alone(Which which, std::shared_ptr<Watched> watched, Work work);
  /// Of another's: it is nothing new to him.
  [[nodiscard]] static Made joined(Made made);
  /// That he joins; null: none.
  [[nodiscard]] std::shared_ptr<Watched> joins(const Which& which, const Repeat& repeat) const;
  void note(const Which& which, const std::shared_ptr<Watched>& watched, Phase phase, std::string_view detail);
  void end(const Which& which, const std::shared_ptr<Watched>& watched, Result<Made> outcome);

  Executor executor_;
  TaskGroup tasks_;
  Shares at_once_{kMostAtOnce};
  std::map<Which, std::shared_ptr<Watched>> alone_;  ///< that go on by themselves
  std::map<Which, std::shared_ptr<Watched>> seen_;   ///< that go on or have failed
  std::deque<Which> failed_;                         ///< in the order of their ends; some may have gone on again
};

}  // namespace skiff::container::serve
