#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/async/event.hpp"
#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/sandbox/driver.hpp"
#include "container/serve/fleet/fleet.hpp"

namespace skiff::container::serve {

/// A sandbox as lists show it.
struct Listed {
  std::string id;
  std::string uid;
  std::string owner;  ///< owner within the tenant
  std::string json;
};

struct ListEvent {
  enum class Kind : std::uint8_t {
    added,
    changed,
    removed,      ///< with the sandbox as it was last
    unavailable,  ///< the list cannot be read now, and may have changed since
    available,    ///< it was read again, and the events before this one say what has changed
  };
  Kind kind;
  std::shared_ptr<const Listed> sandbox = {};
  std::shared_ptr<const Error> trouble = {};
};

/// The list of a tenant's sandboxes, and its latest events, for any number of readers, each at its own number. It is
/// read once for all of them: when the driver has noticed a change, and every now and then. Without readers it is not
/// read; the next reader's events say what has changed meanwhile. Reactor thread only.
class ListFeed {
 public:
  using Show = std::function<std::string(const Sandbox&)>;

  struct Limits {
    std::size_t most_events = 1'024;
    std::size_t most_bytes = std::size_t{4} << 20U;     ///< of the sandboxes in the events that are kept
    std::chrono::milliseconds between_looks{100};       ///< shortest pause after a look
    std::chrono::milliseconds look_for_changes{2'000};  ///< pause where changes may go unnoticed
    std::chrono::milliseconds look_anyway{15'000};      ///< pause where the driver notices changes
  };

  /// `fleet` must outlive it.
  ListFeed(Executor executor, Fleet* fleet, std::string tenant, Show show, Limits limits);

  /// Reads the list until it is cancelled, or has had no reader for `linger`.
  [[nodiscard]] Task<> run(std::chrono::milliseconds linger);

  void enter();
  void leave();

  /// Waits until the list is known as it is now. The error of reading it.
  [[nodiscard]] Task<Result<>> await_current();

  /// The feed's own name: numbers of another feed mean nothing here.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The number of the latest event.
  [[nodiscard]] std::uint64_t newest() const noexcept { return forgotten_ + events_.size(); }
  /// True if all events after this number are kept.
  [[nodiscard]] bool keeps_after(std::uint64_t number) const noexcept {
    return number >= forgotten_ && number <= newest();
  }
  [[nodiscard]] const ListEvent& event(std::uint64_t number) const { return events_.at(number - forgotten_ - 1); }
  /// All sandboxes, by id, as of `newest`.
  [[nodiscard]] std::vector<std::shared_ptr<const Listed>> all() const;
  /// Why the list cannot be read now; null: it can.
  [[nodiscard]] const std::shared_ptr<const Error>& trouble() const noexcept { return trouble_; }
  /// True when no events come any more.
  [[nodiscard]] bool is_over() const noexcept { return is_over_; }

  /// Notified after each look.
  [[nodiscard]] Event& changed() noexcept { return changed_; }

 private:
  [[nodiscard]] Task<> look();
  /// Waits until the list is to be read again.
  [[nodiscard]] Task<> rest();
  [[nodiscard]] Task<bool> await_reader(std::chrono::milliseconds linger);
  [[nodiscard]] Task<> wait_until(SteadyTime until);
  void mark();
  [[nodiscard]] bool is_current() const;
  [[nodiscard]] std::chrono::milliseconds usual_pause() const;
  void take(const std::vector<Sandbox>& found);
  void note(ListEvent event);

  Fleet* fleet_;
  std::string tenant_;
  Show show_;
  Limits limits_;
  std::string name_;
  std::map<std::string, std::shared_ptr<const Listed>, std::less<>> sandboxes_;
  std::deque<ListEvent> events_;
  std::uint64_t forgotten_ = 0;  ///< number of events that are no longer kept
  std::size_t bytes_ = 0;
  std::size_t readers_ = 0;
  bool is_creating_ = false;  ///< the end of a creation may go unnoticed
  bool is_marked_ = true;     ///< the list may have changed since the last look began
  bool has_looked_ = false;
  bool is_over_ = false;
  SteadyTime looked_at_{};  ///< when the last look that has ended began
  SteadyTime::duration took_{};
  std::shared_ptr<const Error> trouble_;
  Event changed_;
  Event wake_;
  std::unique_ptr<ListWatch> watch_;
};

}  // namespace skiff::container::serve
