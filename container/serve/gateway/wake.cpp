#include "container/serve/gateway/wake.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "base/async/beside.hpp"
#include "base/async/deadline.hpp"

namespace skiff::container::serve {

struct Wakes::Started {
  explicit Started(Executor executor) : changed{executor} {}

  std::optional<Result<>> outcome = {};
  Event changed;  ///< notified when there is an outcome, or when a waiting request has to check
};

namespace {

Task<> watch_whether(Task<bool> left, bool* gone, Event* changed) {
  if (!co_await std::move(left)) co_return;
  *gone = true;
  changed->notify_all();
}

}  // namespace

Wakes::Wakes(Executor executor, WakeLimits limits)
    : executor_{executor}, limits_{limits}, tasks_{executor}, starting_{limits.at_once}, waiting_{limits.waiting} {}

bool Wakes::has_room(const std::string& tenant, bool starts) const {
  return waiting_.leaves_room(tenant) && (!starts || starting_.leaves_room(tenant));
}

Task<Result<>> Wakes::wake(Which which, Start start, Task<bool> left) {
  auto found = starts_.find(which);
  if (!has_room(which.tenant, found == starts_.end())) {
    co_return fail(Errc::sandbox_starting, "too many sandboxes are starting: try again");
  }
  const Shares::Part waits{waiting_, which.tenant};
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
  const Shares::Part starts{starting_, which.tenant};
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
