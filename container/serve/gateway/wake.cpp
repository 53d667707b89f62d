#include "container/serve/gateway/wake.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "base/beside.hpp"
#include "base/deadline.hpp"
#include "container/serve/gateway/counted.hpp"

namespace skiff::container::serve {

struct Wakes::Started {
  explicit Started(Executor executor) : changed{executor} {}

  std::optional<Result<>> outcome = {};
  Event changed;  ///< there is an outcome, or one of those who wait has to look
};

class Wakes::Part {
 public:
  Part(Wakes* wakes, std::string tenant, std::size_t Share::* what)
      : wakes_{wakes}, tenant_{std::move(tenant)}, what_{what} {
    ++(wakes_->tenants_[tenant_].*what_);
  }
  ~Part() {
    const auto found = wakes_->tenants_.find(tenant_);
    --(found->second.*what_);
    if (found->second.starting + found->second.waiting == 0) wakes_->tenants_.erase(found);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

 private:
  Wakes* wakes_;
  std::string tenant_;
  std::size_t Share::* what_;
};

namespace {

/// One more of somebody who has `own` of the `used` ones.
bool leaves_room(std::size_t own, std::size_t used, std::size_t most) {
  return used < most && own < most - used;
}

Task<> watch_whether(Task<bool> left, bool* gone, Event* changed) {
  if (!co_await std::move(left)) co_return;
  *gone = true;
  changed->notify_all();
}

}  // namespace

Wakes::Wakes(Executor executor, WakeLimits limits) : executor_{executor}, limits_{limits}, tasks_{executor} {}

bool Wakes::has_room(const std::string& tenant, bool starts) const {
  const auto found = tenants_.find(tenant);
  const Share share = found == tenants_.end() ? Share{} : found->second;
  return leaves_room(share.waiting, waiting_, limits_.waiting) &&
         (!starts || leaves_room(share.starting, starts_.size(), limits_.at_once));
}

Task<Result<>> Wakes::wake(Which which, Start start, Task<bool> left) {
  auto found = starts_.find(which);
  if (!has_room(which.tenant, found == starts_.end())) {
    co_return fail(Errc::sandbox_starting, "too many sandboxes are starting: try again");
  }
  const Counted waits{waiting_};
  const Part waits_of_his{this, which.tenant, &Share::waiting};
  std::shared_ptr<Started> started;
  if (found != starts_.end()) {
    started = found->second;
  } else {
    started = std::make_shared<Started>(executor_);
    starts_.emplace(which, started);
    tasks_.spawn("start of a sandbox", run(std::move(which), started, std::move(start)));
  }
  bool gone = false;
  co_return co_await run_beside(watch_whether(std::move(left), &gone, &started->changed), wait(started, &gone));
}

Task<Result<>> Wakes::wait(std::shared_ptr<Started> started, const bool* gone) {
  bool late = false;
  Deadline patience{executor_, [&late, &started] {
                      late = true;
                      started->changed.notify_all();
                    }};
  patience.expires_after(limits_.patience);
  while (!started->outcome && !late && !*gone) co_await started->changed.wait();
  if (started->outcome) co_return *started->outcome;
  if (*gone) co_return fail(Errc::cancelled, "the client has left");
  co_return fail(Errc::sandbox_starting, "the sandbox takes longer than " + std::to_string(limits_.patience.count()) +
                                             " ms to start: ask again");
}

Task<> Wakes::run(Which which, std::shared_ptr<Started> started, Start start) {
  const Part starts_of_his{this, which.tenant, &Share::starting};
  Result<> outcome = fail(Errc::sandbox_starting, "the start of the sandbox was given up: try again");
  std::exception_ptr failure;
  try {
    outcome = co_await start();
  } catch (...) {
    failure = std::current_exception();
  }
  starts_.erase(which);
  started->outcome = std::move(outcome);
  started->changed.notify_all();
  if (failure) std::rethrow_exception(failure);
}

Task<> Wakes::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

}  // namespace skiff::container::serve
