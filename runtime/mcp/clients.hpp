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

/// A client that has begun with a handshake (what the protocol calls a session, up to 2025-11-25): its requests under
/// way, its subscriptions and what it is to be told. Reactor thread only.
class Client {
 public:
  static constexpr std::size_t kMostRequests = 32;       ///< under way
  static constexpr std::size_t kMostSubscriptions = 64;  ///< of one client, or of one listening request
  // Of streams that are over, for a client whose connection broke meanwhile:
  static constexpr std::size_t kKeptBytes = std::size_t{1} << 20U;
  static constexpr std::size_t kKeptStreams = 8;

  Client(Executor executor, std::string id, std::string who, Revision revision)
      : id{std::move(id)}, who{std::move(who)}, revision{revision}, news{std::make_shared<Outbox>(executor)} {}

  /// Registers a request. Errors: invalid_request when its id is in use; resource_exhausted.
  [[nodiscard]] Result<std::uint64_t> begin(const std::string& request, std::shared_ptr<Job> job);
  void end(const std::string& request, std::uint64_t stream);
  void cancel(const std::string& request);
  /// The stream of that number, 0 for the news; null when it is not kept.
  [[nodiscard]] std::shared_ptr<Outbox> stream(std::uint64_t number) const;
  /// Ends everything of it.
  void close();

  [[nodiscard]] bool busy() const noexcept { return !requests_.empty() || listeners > 0; }

  const std::string id;
  const std::string who;  ///< whose credential it began with: nobody else's is taken
  const Revision revision;
  const std::shared_ptr<Outbox> news;  ///< for the stream that no request began
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

/// All clients, and all that works for them. Reactor thread only.
class Clients {
 public:
  // Of each credential as many as the others leave free.
  static constexpr std::size_t kMostClients = 64;
  static constexpr std::size_t kMostJobs = 256;  ///< requests and subscriptions of all clients
  static constexpr std::chrono::milliseconds kIdleTime{30 * 60'000};
  /// One that does nothing gives its place to another after this long.
  static constexpr std::chrono::milliseconds kGivesPlaceAfter{60'000};

  explicit Clients(Executor executor);

  /// Errors: resource_exhausted, draining.
  [[nodiscard]] Result<std::shared_ptr<Client>> add(std::string who, Revision revision);
  /// Null when there is none of this id that began with that credential.
  [[nodiscard]] std::shared_ptr<Client> find(std::string_view id, std::string_view who);
  void remove(const std::string& id);

  /// Starts a job's work; `over` is called when it has ended, before the next request is looked at. Errors:
  /// resource_exhausted, draining.
  [[nodiscard]] Result<> start(std::shared_ptr<Job> job, Work work, std::function<void()> over = {});

  /// Gives jobs whose wait is over a moment to answer, ends the others and waits until they are gone; nothing begins
  /// from then on.
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
