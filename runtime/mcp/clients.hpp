#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/async/deadline.hpp"
#include "base/async/task_group.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "runtime/mcp/job.hpp"
#include "runtime/mcp/revision.hpp"

namespace skiff::runtime::mcp {

/// A client that has begun with a handshake, which the protocol calls a session (up to 2025-11-25): its running
/// requests, its subscriptions and the messages for it. Reactor thread only.
class Client {
 public:
  static constexpr std::size_t kMostRequests = 32;       ///< running at the same time
  static constexpr std::size_t kMostSubscriptions = 64;  ///< of one client, or of one listening request
  // These bound the streams that have ended and are kept for a client whose connection broke:
  static constexpr std::size_t kKeptBytes = std::size_t{1} << 20U;
  static constexpr std::size_t kKeptStreams = 8;

  Client(Executor executor, std::string id, std::string who, Revision revision)
      : id{std::move(id)}, who{std::move(who)}, revision{revision}, news{std::make_shared<Outbox>(executor)} {}

  /// Registers a request and returns the number of its stream. Errors: invalid_request when its id is in use;
  /// resource_exhausted.
  [[nodiscard]] Result<std::uint64_t> begin(const std::string& request, std::shared_ptr<Job> job);
  void end(const std::string& request, std::uint64_t stream);
  void cancel(const std::string& request);
  /// The stream with this number, 0 for `news`; null: it is not kept.
  [[nodiscard]] std::shared_ptr<Outbox> stream(std::uint64_t number) const;
  /// Cancels its requests and subscriptions, and closes `news`.
  void close();

  [[nodiscard]] bool busy() const noexcept { return !requests_.empty() || listeners > 0; }

  const std::string id;
  const std::string who;  ///< the holder of the credential that it began with; no other holder may use it
  const Revision revision;
  const std::shared_ptr<Outbox> news;  ///< messages for the stream of a GET, which no request began
  std::map<std::string, std::shared_ptr<Job>> subscriptions = {};
  std::size_t listeners = 0;
  SteadyTime last_used = std::chrono::steady_clock::now();

 private:
  struct Running {
    std::uint64_t stream;
    std::shared_ptr<Job> job;
  };
  std::map<std::string, Running> requests_;
  std::deque<std::pair<std::uint64_t, std::shared_ptr<Outbox>>> over_;
  std::uint64_t streams_ = 0;
};

/// All clients, and all jobs that work for them. Reactor thread only.
class Clients {
 public:
  // Each credential may have as many as the others leave free.
  static constexpr std::size_t kMostClients = 64;
  static constexpr std::size_t kMostJobs = 256;  ///< requests and subscriptions of all clients
  static constexpr std::chrono::milliseconds kIdleTime{30 * 60'000};
  /// A client that has been idle for this long is removed if another one needs its slot.
  static constexpr std::chrono::milliseconds kGivesPlaceAfter{60'000};

  explicit Clients(Executor executor);

  /// Adds a client. Errors: resource_exhausted, draining.
  [[nodiscard]] Result<std::shared_ptr<Client>> add(std::string who, Revision revision);
  /// The client with this id; null: none with this id began with that credential.
  [[nodiscard]] std::shared_ptr<Client> find(std::string_view id, std::string_view who);
  void remove(const std::string& id);

  /// Starts a job's work. `over` is called when it has ended, before the next request is handled. Errors:
  /// resource_exhausted, draining.
  [[nodiscard]] Result<> start(std::shared_ptr<Job> job, Work work, std::function<void()> over = {});

  /// Gives jobs whose wait is over a moment to answer, cancels the others, and waits until they have ended. No job
  /// begins afterwards.
  [[nodiscard]] Task<> close();

  [[nodiscard]] std::size_t size() const noexcept { return clients_.size(); }
  [[nodiscard]] std::size_t jobs() const noexcept { return jobs_.size(); }

 private:
  void sweep();

  Executor executor_;
  TaskGroup tasks_;
  std::map<std::string, std::shared_ptr<Client>, std::less<>> clients_;
  std::map<const Job*, std::shared_ptr<Job>> jobs_;
  Deadline sweep_due_;
  bool closed_ = false;
};

}  // namespace skiff::runtime::mcp
