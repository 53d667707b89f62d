#include "container/serve/fleet/followers.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "base/async/beside.hpp"
#include "base/async/deadline.hpp"
#include "base/scope_counter.hpp"

namespace skiff::container::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// The more followers read records, the longer each waits: together they ask the hosts at most some dozens of times per
/// second.
constexpr milliseconds kBetweenLooks{500};
constexpr std::size_t kLookAtOnce = 16;
/// Longest time without a step.
constexpr milliseconds kLongestSilence{15'000};

}  // namespace

class Followers::Follower {
 public:
  Follower(Executor executor, Followers* all, BringUps::Which which, SteadyTime until, Tell tell)
      : all_{all},
        which_{std::move(which)},
        until_{until},
        tell_{std::move(tell)},
        alone_{executor},
        late_{executor, [this] { wake(); }} {}

  static Task<> watch(Follower* self, Task<bool> left) {
    self->gone_ = co_await std::move(left);
    if (self->gone_) self->wake();
  }

  static Task<Result<Sandbox>> run(Follower* self) {
    for (;;) {
      if (auto watched = self->all_->bring_ups_->find(self->which_)) {
        SKIFF_CO_TRY_VOID(co_await self->look_on(watched));
        if (watched->outcome && !*watched->outcome) co_return std::unexpected{watched->outcome->error()};
      }
      if (self->gone_) co_return fail(Errc::cancelled, "the client has left");
      auto now = co_await self->all_->fleet_->get(self->which_.first, self->which_.second);
      if (!now && now.error().code == Errc::sandbox_not_found) {
        if (auto why = self->all_->bring_ups_->failure(self->which_)) co_return std::unexpected{std::move(*why)};
      }
      if (!now || now->state != SandboxState::creating || self->is_over()) co_return now;
      SKIFF_CO_TRY_VOID(co_await self->tell_({}));
      const ScopeCounter looking{self->all_->looking_};
      const auto turn = static_cast<int>(1 + self->all_->looking_ / kLookAtOnce);
      co_await self->wait(&self->alone_, turn * kBetweenLooks);
    }
  }

 private:
  struct Waiting {
    Waiting(Event*& slot_in, Event* event) : slot{slot_in} { slot = event; }
    ~Waiting() { slot = nullptr; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    Event*& slot;
  };

  [[nodiscard]] bool is_over() const { return steady_clock::now() >= until_; }

  /// Follows a bring-up in this process.
  Task<Result<>> look_on(std::shared_ptr<BringUps::Watched> watched) {
    std::uint64_t told = 0;
    while (!gone_ && !is_over()) {
      // A copy: more steps may come during `tell`.
      const std::size_t known = std::max(told, watched->forgotten) - watched->forgotten;
      const std::vector<BringUps::Step> steps{watched->steps.begin() + static_cast<std::ptrdiff_t>(known),
                                              watched->steps.end()};
      told = watched->forgotten + watched->steps.size();
      SKIFF_CO_TRY_VOID(co_await tell_(steps));
      const bool is_news = told != watched->forgotten + watched->steps.size();
      if (watched->outcome && !is_news) break;
      if (!is_news) co_await wait(&watched->changed, kLongestSilence);
    }
    co_return Result<>{};
  }

  Task<> wait(Event* event, milliseconds limit) {
    const auto left = std::chrono::ceil<milliseconds>(until_ - steady_clock::now());
    if (gone_ || left <= milliseconds{0}) co_return;
    // Resets the pointer however this ends, because the event may be destroyed then.
    const Waiting waiting{waited_for_, event};
    late_.expires_after(std::min(limit, left));
    co_await event->wait();
  }

  void wake() {
    if (waited_for_ != nullptr) waited_for_->notify_all();
  }

  Followers* all_;
  BringUps::Which which_;
  SteadyTime until_;
  Tell tell_;
  Event alone_;
  Event* waited_for_ = nullptr;
  bool gone_ = false;
  Deadline late_;
};

Task<Result<Sandbox>> Followers::follow(BringUps::Which which, SteadyTime until, Task<bool> left, Tell tell) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  Follower follower{executor, this, std::move(which), until, std::move(tell)};
  co_return co_await run_beside(Follower::watch(&follower, std::move(left)), Follower::run(&follower));
}

}  // namespace skiff::container::serve
