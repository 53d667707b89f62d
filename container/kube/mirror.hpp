#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "container/kube/watch.hpp"

namespace skiff::kube {

/// A copy of the objects that a watch selects, as JSON texts without `managedFields`. While the API server is away it
/// keeps what it knows. It may be behind the server: `certain_at` says how far. Reactor thread only.
class Mirror {
 public:
  /// The groups that an object belongs to, each once.
  using GroupsOf = std::function<std::vector<std::string>(const Object&)>;
  using Names = std::set<std::string, std::less<>>;

  /// `client` must outlive it. `options` has neither a resource version nor `take_page`.
  Mirror(Client* client, WatchOptions options, GroupsOf groups_of = {});
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  /// Keeps the copy up to date until it is cancelled. Begin it once, and join it before the object is destroyed.
  [[nodiscard]] Task<> run();

  /// True once all objects were read.
  [[nodiscard]] bool is_complete() const noexcept { return is_complete_; }
  /// True while the server refuses to let this process watch them.
  [[nodiscard]] bool is_refused() const noexcept { return is_refused_; }
  /// `call` is called when all objects were read, and when the server refuses that.
  void when_read(std::function<void()> call) { was_read_ = std::move(call); }
  /// `call` is called after each event, and when all objects were read.
  void when_changed(std::function<void()> call) { was_changed_ = std::move(call); }
  [[nodiscard]] std::optional<Object> find(std::string_view name) const;
  void for_each(const std::function<void(Object object)>& take) const;
  /// The names of the objects of a group, in order.
  [[nodiscard]] const Names& group(const std::string& group) const;
  /// The names of groups that begin like this, in order, from this one on, at most so many.
  [[nodiscard]] std::vector<std::string> groups(std::string_view beginning, std::string_view from,
                                                std::size_t most) const;
  /// Identifies this state of the object; 0 if there is none.
  [[nodiscard]] std::uint64_t version_of(std::string_view name) const;
  /// The latest time at which the object was certainly as it is here: when the server has answered so, or has sent any
  /// later event. In the far past if it is not here.
  [[nodiscard]] SteadyTime certain_at(std::string_view name) const;

  /// Takes over the server's answer to this process, whose event has yet to come. An answer that is older than what is
  /// known changes nothing.
  void note(const Object& object);
  /// Takes over that this process has deleted the object: from now on it is not here, though it may still end slowly.
  void note_removed(std::string_view name, std::string_view uid);

  [[nodiscard]] std::size_t size() const noexcept { return kept_.size(); }
  /// Number of connections so far.
  [[nodiscard]] unsigned connections() const noexcept { return watch_.connections(); }

 private:
  struct Kept {
    std::uint64_t version = 0;
    std::string text = {};
    std::string uid = {};
    std::vector<std::string> groups = {};
    SteadyTime noted_at{};
    bool is_removed = false;
  };
  using All = std::map<std::string, Kept, std::less<>>;

  [[nodiscard]] WatchOptions with_pages(WatchOptions options);
  void take(WatchEvent event);
  void take_page(std::vector<Object> items, bool is_first);
  void finish_snapshot();
  void put(All* all, Object object) const;
  [[nodiscard]] const Kept* known(std::string_view name) const;
  void store(Object object);
  void enter_groups(const std::string& name, const Kept& kept);
  void leave_groups(All::iterator which);
  void erase(std::string_view name);
  void note_trouble(const Failure& failure);

  GroupsOf groups_of_;
  Watch watch_;
  All kept_;
  All coming_;  ///< a snapshot that is not whole yet
  std::map<std::string, Names> groups_;
  SteadyTime heard_at_{};  ///< when the last event came
  std::function<void()> was_read_ = [] {};
  std::function<void()> was_changed_ = [] {};
  bool is_complete_ = false;
  bool is_refused_ = false;  ///< the log says why it cannot be read
};

}  // namespace skiff::kube
