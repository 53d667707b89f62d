#include "container/serve/fleet/bring_ups.hpp"

#include <exception>
#include <string_view>

#include "base/async/with_timeout.hpp"
#include "base/log/log.hpp"

namespace skiff::container::serve {
namespace {

/// Cuts a text, but not in the middle of a character.
std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return text.substr(0, most);
}

}  // namespace

void BringUps::note(const Which& which, const std::shared_ptr<Watched>& watched, Phase phase, std::string_view detail) {
  // The function may be called after the end; and the phase `ready` is followed by the outcome.
  if (watched->outcome || phase == Phase::ready) return;
  auto& seen = seen_[which];
  // If two calls bring up the same sandbox, the first one is shown.
  if (!seen || seen->outcome) seen = watched;
  watched->steps.push_back({.phase = phase, .detail = std::string{cut(detail, kLongestDetail)}});
  if (watched->steps.size() > kMostSteps) {
    watched->steps.pop_front();
    ++watched->forgotten;
  }
  watched->changed.notify_all();
}

void BringUps::end(const Which& which, const std::shared_ptr<Watched>& watched, Result<Made> outcome) {
  watched->outcome = std::move(outcome);
  watched->changed.notify_all();
  const auto found = seen_.find(which);
  if (found == seen_.end() || found->second != watched) return;
  if (*watched->outcome) {
    seen_.erase(found);
    return;
  }
  failed_.push_back(which);
  if (failed_.size() <= kKeptFailures) return;
  const auto oldest = seen_.find(failed_.front());
  if (oldest != seen_.end() && oldest->second->outcome) seen_.erase(oldest);
  failed_.pop_front();
}

Task<Result<Made>> BringUps::watch(Which which, std::shared_ptr<Watched> watched, Work work) {
  Result<Made> made = fail(Errc::cancelled, "its bring-up was given up: try again");
  std::exception_ptr thrown;
  try {
    made = co_await work(
        [this, which, watched](Phase phase, std::string_view detail) { note(which, watched, phase, detail); });
  } catch (...) {
    thrown = std::current_exception();
  }
  end(which, watched, made);
  if (thrown) std::rethrow_exception(thrown);
  co_return made;
}

Made BringUps::joined(Made made) {
  made.is_new = false;
  return made;
}

std::shared_ptr<BringUps::Watched> BringUps::joins(const Which& which, const Repeat& repeat) const {
  const auto found = alone_.find(which);
  if (found == alone_.end()) return nullptr;
  const bool is_same = !repeat.request.empty() && repeat.request == found->second->request;
  return repeat.wants_any || is_same ? found->second : nullptr;
}

Task<Result<Made>> BringUps::run(Which which, Work work, Repeat repeat) {
  const auto watched = joins(which, repeat);
  if (!watched) co_return co_await watch(std::move(which), std::make_shared<Watched>(executor_), std::move(work));
  while (!watched->outcome) co_await watched->changed.wait();
  if (!*watched->outcome) co_return *watched->outcome;
  co_return joined(**watched->outcome);
}

Task<> BringUps::run_alone(Which which, std::shared_ptr<Watched> watched, Work work) {
  const auto [tenant, id] = which;
  const Shares::Part part{at_once_, tenant};
  const struct Going {
    ~Going() { all.erase(which); }
    std::map<Which, std::shared_ptr<Watched>>& all;
    const Which which;
  } going{alone_, which};
  auto made = co_await watch(std::move(which), watched, std::move(work));
  if (!made && !watched->steps.empty()) {
    log::warning("a sandbox was not brought up",
                 {{"sandbox", id}, {"tenant", tenant}, {"error", made.error().message}});
  }
}

Task<Result<std::optional<Made>>> BringUps::begin(Which which, Work work, Repeat repeat) {
  std::shared_ptr<Watched> watched = joins(which, repeat);
  const bool is_repeated = watched != nullptr;
  if (!watched) {
    if (alone_.contains(which)) {
      co_return fail(Errc::sandbox_conflict,
                     "a sandbox of this name, or with this Idempotency-Key, is being brought up");
    }
    if (!at_once_.leaves_room(which.first)) {
      co_return fail(
          Errc::resource_exhausted,
          "this server is already bringing up as many sandboxes for your tenant as it can at the same time: try again");
    }
    watched = std::make_shared<Watched>(executor_);
    watched->request = std::move(repeat.request);
    alone_.emplace(which, watched);
    tasks_.spawn("bring-up of a sandbox", run_alone(std::move(which), watched, std::move(work)));
  }
  while (!watched->outcome && watched->steps.empty()) co_await watched->changed.wait();
  if (!watched->outcome) co_return std::nullopt;
  if (!*watched->outcome) co_return std::unexpected{watched->outcome->error()};
  co_return is_repeated ? joined(**watched->outcome) : **watched->outcome;
}

std::shared_ptr<BringUps::Watched> BringUps::find(const Which& which) const {
  const auto found = seen_.find(which);
  return found == seen_.end() || found->second->outcome ? nullptr : found->second;
}

std::optional<Error> BringUps::failure(const Which& which) const {
  const auto found = seen_.find(which);
  if (found == seen_.end() || !found->second->outcome) return std::nullopt;
  return found->second->outcome->error();
}

Task<> BringUps::finish(SteadyTime until) {
  if (tasks_.empty()) co_return;
  (void)co_await within(until, [](TaskGroup* tasks) -> Task<bool> {
    co_await tasks->join();
    co_return true;
  }(&tasks_));
}

Task<> BringUps::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

}  // namespace skiff::container::serve
