#pragma once

#include <chrono>
#include <string>

#include "base/async/event.hpp"
#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/error.hpp"
#include "container/kube/client.hpp"

namespace skiff::kube {

/// True if the API server has not answered, or not as it would if it were well.
[[nodiscard]] bool is_servers_fault(const Failure& failure);

/// Whether the API server answers, for a server whose clients are to hear at once that it does not. It is asked only
/// when that is in doubt, once a second, until it answers. Reactor thread only.
class ApiPresence {
 public:
  /// How long a read waits for the API server, if something else can answer instead.
  static constexpr std::chrono::milliseconds kReadPatience{2'000};
  /// The API server is away if it has answered nothing for this long.
  static constexpr std::chrono::milliseconds kAway{5'000};

  /// Objects of this kind with these labels are asked for. `client` must outlive it.
  ApiPresence(Client* client, Executor executor, Resource resource, std::string namespace_name, std::string labels);
  /// Ends the questions. Call it before the object is destroyed.
  [[nodiscard]] Task<> stop();

  /// `cluster_unavailable` if the API server is away. It is asked only if it has not answered within `kReadPatience`.
  [[nodiscard]] Task<Result<>> check();
  /// It has left a request unanswered: it may be away.
  void doubt();
  /// True if the last question was not answered in time: do not wait for the API server where that can be avoided.
  [[nodiscard]] bool is_in_doubt() const noexcept { return is_in_doubt_; }

  /// Reads an object. `cluster_unavailable` if the API server is away, or does not answer within `patience`.
  [[nodiscard]] Task<Outcome<Object>> read(Resource resource, std::string namespace_name, std::string name,
                                           std::chrono::milliseconds patience = kAway);

 private:
  void begin_asking();
  [[nodiscard]] Task<> ask_until_answered();

  Client* client_;
  Resource resource_;
  std::string namespace_name_;
  std::string labels_;
  bool is_asking_ = false;
  bool is_in_doubt_ = false;
  bool is_away_ = false;
  Event decided_;  ///< notified when it is known whether the API server is away
  TaskGroup tasks_;
};

}  // namespace skiff::kube
