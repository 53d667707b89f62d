#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include "base/clock.hpp"
#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/finally.hpp"
#include "base/task.hpp"
#include "base/with_timeout.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// Work was cancelled and could not be undone: a cancellation as any other, and `what()` says what is left.
class NotUndone final : public boost::system::system_error {
 public:
  explicit NotUndone(std::string what) : system_error{boost::asio::error::operation_aborted}, text_{std::move(what)} {}
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

/// Whoever wanted something is gone, or knows that it failed: he waits no longer than this until nothing is left.
inline constexpr std::chrono::milliseconds kUndoPatience{4'000};
/// Nor for a host that does not answer.
inline constexpr std::chrono::milliseconds kUndoTime{10'000};

/// A host that has not answered so long after the end of a wait is asked nothing more: until then it may still say why.
inline constexpr std::chrono::milliseconds kHostPatience{5'000};

inline Error no_answer() {
  return {.code = Errc::cluster_unavailable,
          .message = "the time of --wait is over, and the cluster has not answered since"};
}

/// Does the work, which ends at `deadline` by itself unless its host does not answer.
template <class T>
[[nodiscard]] Task<Result<T>> answered_by(SteadyTime deadline, Task<Result<T>> work) {
  auto done = co_await within(deadline + kHostPatience, std::move(work));
  if (done) co_return std::move(*done);
  co_return std::unexpected{no_answer()};
}

/// Takes back what was made, and waits until it is gone, for `patience` at most. False: it still goes, by itself.
using Undo = std::function<Task<Result<bool>>(std::chrono::milliseconds patience)>;

inline constexpr std::string_view kBeingRemoved = "what it had made is being removed";

inline Task<Result<bool>> undo_in_time(const Undo* undo, std::chrono::milliseconds patience) {
  auto undone = co_await within(std::chrono::steady_clock::now() + kUndoTime, (*undo)(patience));
  if (undone) co_return std::move(*undone);
  co_return fail(Errc::timeout, "there was no answer for " + std::to_string(kUndoTime.count() / 1000) + " s");
}

/// Does the work, until `until` at most. When it fails or is cancelled, what it has made is undone first, whatever
/// happens to the caller meanwhile, and what can't be undone, or still goes, is told: in the error, or by `NotUndone`.
/// A request that was cut off may still be on its way, so work that was is undone once more after `late`, unless its
/// host does not answer; `undo` must bear that.
template <class T>
[[nodiscard]] Task<Result<T>> undo_unless(Task<Result<T>> work, Undo undo, std::chrono::milliseconds late,
                                          std::optional<SteadyTime> until = std::nullopt) {
  Result<T> done = std::unexpected{no_answer()};
  bool is_cut_off = true;
  bool is_cancelled = true;
  auto run = [&](this auto) -> Task<> {
    std::optional<Result<T>> in_time;
    if (until) {
      in_time = co_await within(*until, std::move(work));
    } else {
      in_time = co_await std::move(work);
    }
    is_cut_off = !in_time;
    is_cancelled = false;
    if (in_time) done = std::move(*in_time);
  };
  co_await finally(std::move(run), [&](this auto) -> Task<> {
    if (done) co_return;
    Result<bool> undone = co_await undo_in_time(&undo, kUndoPatience);
    const bool is_silent = !undone && undone.error().code == Errc::timeout;
    if (is_cut_off && !is_silent) {
      co_await pause(late);
      // What comes late is taken back, and nobody waits for its end.
      auto again = co_await undo_in_time(&undo, std::chrono::milliseconds{0});
      if (!again) {
        undone = std::move(again);
      } else if (!undone || !*undone || !*again) {
        undone = false;
      }
    }
    if (is_cancelled && !undone) throw NotUndone{"it could not be cleaned up: " + undone.error().message};
    if (is_cancelled && !*undone) throw NotUndone{std::string{kBeingRemoved}};
    if (is_cancelled) co_return;
    if (!undone) done.error().message += "; and it could not be cleaned up: " + undone.error().message;
    if (undone && !*undone) done.error().message += "; " + std::string{kBeingRemoved};
  });
  co_return done;
}

/// An `Undo` of a sandbox that a driver has made: a host that does not answer for what runs on it holds up nobody.
inline Task<Result<bool>> remove_in_haste(Driver* driver, std::string name, std::string id,
                                          std::chrono::milliseconds patience) {
  Removal how{.wait = patience.count() > 0, .patience = patience};
  auto removed = co_await driver->remove_if(name, id, how);
  if (removed) co_return how.wait || !*removed;
  if (removed.error().code != Errc::timeout) co_return std::unexpected{std::move(removed.error())};
  // What was waited for in vain goes by itself; the rest goes now.
  SKIFF_CO_TRY_VOID(co_await driver->remove_if(std::move(name), std::move(id), {.wait = false}));
  co_return false;
}

}  // namespace skiff::container
