#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/async/event.hpp"
#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "container/cluster/watched_objects.hpp"
#include "container/drivers/pods/turns/free_members.hpp"
#include "container/drivers/pods/turns/pod_starts.hpp"

namespace skiff::container {

/// Says who is next, in a process whose watch knows the Pods of pools. Callers that want a member are served first
/// come, first served, and get each Pod that becomes ready, whatever it was made for. If none is ready, the first of
/// them starts a Pod of its own as soon as there is room for it. Pods that fill a pool again start after them. Reactor
/// thread only; it must outlive its places and permits.
class PoolTurns {
 public:
  /// After so long, or half of its time, a caller starts a Pod of its own without room.
  static constexpr std::chrono::seconds kLongestWait{30};
  /// Most callers in the line of a pool.
  static constexpr std::size_t kLongestLine = 1000;
  /// A pool that is not half empty is filled once nobody has taken anything for so long.
  static constexpr std::chrono::milliseconds kQuiet{1'000};
  /// A pool that is half empty is filled beside callers once these have come for so long without such a pause. Most
  /// bursts are over by then: a Pod that starts takes the processor time of ten sandboxes.
  static constexpr std::chrono::milliseconds kBurst{5'000};

  /// `watched` must outlive it.
  PoolTurns(WatchedObjects* watched, Executor executor);

  /// A caller's place in the line of a pool.
  class Place {
   public:
    /// `has` is the time that the caller has for all.
    Place(PoolTurns* turns, std::string pool, std::chrono::milliseconds has);
    ~Place() { leave(); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    /// Waits for the caller's turn, which ends its place in the line. nullopt: it shall start a Pod of its own.
    [[nodiscard]] Task<std::optional<FreeMembers::Held>> turn();
    /// It is the first again, because another process was faster to take what it got.
    void come_back();
    void wake();

   private:
    void leave();
    [[nodiscard]] bool is_first() const;
    [[nodiscard]] Task<bool> next_wake(std::size_t seen);

    PoolTurns* turns_;
    const std::string pool_;
    const SteadyTime until_;
    Event woken_;
    std::size_t wakes_ = 0;
    bool is_in_line_ = true;
  };

  [[nodiscard]] bool is_full(const std::string& pool) const;
  [[nodiscard]] FreeMembers& members() noexcept { return members_; }

  /// Waits until a Pod may fill a pool of that size again, which counts while the permit lives.
  [[nodiscard]] Task<std::unique_ptr<PodStarts::Permit>> refill(std::string pool, unsigned size, std::string name);
  /// The caller starts a Pod of its own.
  [[nodiscard]] std::unique_ptr<PodStarts::Permit> start(std::string name);

  /// A caller takes a member while one lives.
  class Taking {
   public:
    explicit Taking(PoolTurns* turns);
    ~Taking();
    Taking(const Taking&) = delete;
    Taking& operator=(const Taking&) = delete;

   private:
    PoolTurns* turns_;
  };

  /// From now on nothing waits before it fills a pool: the process is about to end.
  void hurry() noexcept { is_in_a_hurry_ = true; }

 private:
  using Line = std::list<Place*>;
  void wake_the_first() const;
  /// True if nobody has taken a member for `kQuiet`.
  [[nodiscard]] bool is_quiet() const;
  [[nodiscard]] bool may_refill(const std::string& pool, unsigned size);

  Executor executor_;
  const kube::Mirror* pods_;
  FreeMembers members_;
  PodStarts starts_;
  std::map<std::string, Line> lines_;  ///< by pool; none is empty
  std::size_t takes_ = 0;              ///< callers that take a member right now
  SteadyTime first_take_{};            ///< after the last pause
  SteadyTime last_take_{};
  bool is_in_a_hurry_ = false;
  std::unique_ptr<ListWatch> listening_;
};

}  // namespace skiff::container
