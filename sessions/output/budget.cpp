#include <algorithm>
#include <utility>

#include "sessions/output/state.hpp"

namespace skiff::sessions {

OutputBudget::State::State(Executor executor, BlockingPool& disk, Limits limits_of_budget)
    : limits{std::move(limits_of_budget)} {
  if (!limits.spool.empty()) spool = std::make_shared<Spool>(executor, disk, limits.spool, limits.spool_bytes);
}

void OutputBudget::State::release(std::size_t bytes) {
  const bool was_over = over();
  held -= bytes;
  if (was_over && !over()) relieved();
}

void OutputBudget::State::enforce_for(const OutputLog::State& grown) {
  if (nothing_to_give && !grown.store->can_give_up_tail(grown.pinned(), false)) return;
  enforce();
}

void OutputBudget::State::enforce() {
  using GaveUp = OutputStore::GaveUp;
  nothing_to_give = false;
  const auto tail_of = [](OutputLog::State& log, bool ended) {
    return log.store ? log.store->give_up_tail(log.pinned(), ended, log.may_wait()) : GaveUp::nothing;
  };
  for (OutputLog::State& log : over_with) {
    while (over()) {
      const GaveUp answer = tail_of(log, true);
      if (answer == GaveUp::must_wait_for_disk) return;
      if (answer == GaveUp::nothing) break;
    }
  }
  while (over()) {
    OutputLog::State* largest = nullptr;
    for (OutputLog::State& log : live) {
      if (log.store && log.store->can_give_up_tail(log.pinned(), false) &&
          (largest == nullptr || log.store->tail_cost() > largest->store->tail_cost())) {
        largest = &log;
      }
    }
    if (largest == nullptr) break;
    if (tail_of(*largest, false) == GaveUp::must_wait_for_disk) return;
  }
  for (OutputLog::State& log : over_with) {
    while (over()) {
      const GaveUp answer = log.store ? log.store->give_up_head(log.pinned()) : GaveUp::nothing;
      if (answer == GaveUp::must_wait_for_disk) return;
      if (answer == GaveUp::nothing) break;
    }
  }
  nothing_to_give = over();
}

void OutputBudget::State::out_of_memory() {
  limits.memory_bytes = std::min(limits.memory_bytes, held - held / 4);
  enforce();
}

void OutputBudget::State::relieved() {
  for (OutputLog::State& log : live) {
    if (log.disk_is_behind) log.retain();
    log.wake_producer();
  }
  // Chunks that had to stay while the disk was behind can go now.
  if (over()) enforce();
}

OutputBudget::OutputBudget(Executor executor, BlockingPool& disk, Limits limits)
    : state_{std::make_unique<State>(executor, disk, std::move(limits))} {}
OutputBudget::~OutputBudget() = default;

std::size_t OutputBudget::memory_used() const noexcept {
  return state_->segments->used();
}
std::uint64_t OutputBudget::spool_used() const noexcept {
  return state_->spool ? state_->spool->used() : 0;
}

const OutputCounts& OutputBudget::counts() const noexcept {
  return state_->counts;
}

Task<> OutputBudget::drain() {
  if (state_->spool) co_await state_->spool->drain();
}

}  // namespace skiff::sessions
