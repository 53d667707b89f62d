#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include "base/async/deadline.hpp"
#include "base/async/finally.hpp"
#include "base/async/task.hpp"
#include "base/async/with_timeout.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// Thrown when cancelled work could not be undone. It is a cancellation, and `what()` says what remains.
class NotUndone final : public boost::system::system_error {
 public:
  explicit NotUndone(std::string what) : system_error{boost::asio::error::operation_aborted}, text_{std::move(what)} {}
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

/// How long an undo waits for the removal, because the caller has left, or knows of the failure.
inline constexpr std::chrono::milliseconds kUndoPatience{4'000};
/// How long an undo waits for a host that does not answer.
inline constexpr std::chrono::milliseconds kUndoTime{10'000};

/// How long after the end of a wait the host may still answer why.
inline constexpr std::chrono::milliseconds kHostPatience{5'000};

inline Error no_answer() {
  return {.code = Errc::cluster_unavailable,
          .message = "the time of --wait is over, and the cluster has not answered since"};
}

/// Does work that ends by itself at `deadline`, unless its host does not answer.
template <class T>
[[nodiscard]] Task<Result<T>> answered_by(SteadyTime deadline, Task<Result<T>> work) {
  auto done = co_await within(deadline + kHostPatience, std::move(work));
  if (done) co_return std::move(*done);
  co_return std::unexpected{no_answer()};
}

/// Removes the created objects, and waits for at most `patience` until they are gone. False: their removal goes on by
/// itself.
using Undo = std::function<Task<Result<bool>>(std::chrono::milliseconds patience)>;

inline constexpr std::string_view kBeingRemoved = "what it had made is being removed";

inline Task<Result<bool>> undo_in_time(const Undo* undo, std::chrono::milliseconds patience) {
  auto undone = co_await within(std::chrono::steady_clock::now() + kUndoTime, (*undo)(patience));
  if (undone) co_return std::move(*undone);
  co_return fail(Errc::timeout, "there was no answer for " + std::to_string(kUndoTime.count() / 1000) + " s");
}

/// Does the work, at most until `until`. If it fails or is cancelled, its objects are removed first, even if the caller
/// is cancelled meanwhile. The error, or `NotUndone`, says what could not be undone or is still being removed. A
/// request whose connection broke may still arrive, so interrupted work is undone once more after `late`, unless its
/// host does not answer; `undo` must tolerate that.
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
      // Remove objects that were created late, without waiting for their ends.
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

/// An `Undo` for a sandbox that a driver has created: it does not wait for a node that does not answer.
inline Task<Result<bool>> remove_in_haste(Driver* driver, std::string name, std::string id,
                                          std::chrono::milliseconds patience) {
  Removal how{.wait = patience.count() > 0, .patience = patience};
  auto removed = co_await driver->remove_if(name, id, how);
  if (removed) co_return how.wait || !*removed;
  if (removed.error().code != Errc::timeout) co_return std::unexpected{std::move(removed.error())};
  // Objects whose end did not come in time end by themselves; remove the others now.
  SKIFF_CO_TRY_VOID(co_await driver->remove_if(std::move(name), std::move(id), {.wait = false}));
  co_return false;
}

}  // namespace skiff::container
