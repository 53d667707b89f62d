#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/sandbox/freshness.hpp"
#include "container/serve/fleet/fleet.hpp"
#include "container/serve/gateway/gateway.hpp"

namespace skiff::container::serve {

/// The gateway's cache of running sandboxes, so that it need not ask the host for each request. There are no
/// notifications about sandboxes that were removed, stopped or replaced. The cache notices it at the next request if
/// the driver can tell (`Driver::freshness`), otherwise within `kFresh`, and at once if this process has done it. Data
/// that was read during a change is not kept. While the host does not answer, sandboxes cannot change either, so the
/// cached data is used for at most `kAway`. Reactor thread only.
class KnownSandboxes {
 public:
  /// Greatest age of cached data without a freshness.
  static constexpr std::chrono::milliseconds kFresh{1000};
  static constexpr std::chrono::minutes kAway{5};
  /// How long to wait for the host if data is cached, and if none is.
  static constexpr std::chrono::milliseconds kPatience{2'000};
  static constexpr std::chrono::milliseconds kFirstPatience{15'000};
  /// Most sandboxes: the most recently used ones are kept. Each may hold a descriptor.
  static constexpr std::size_t kMost = 1000;
  /// How many are examined when one is added: more than one, so that those that have ended become fewer.
  static constexpr int kExaminedAtOnce = 2;
  /// Absent sandboxes that are remembered for `kFresh`: a stranger's signature is compared with those of all tenants.
  static constexpr std::size_t kMostAbsent = 10'000;
  /// Most endpoints of one sandbox: they differ in their tokens' subjects, scopes and ends.
  static constexpr std::size_t kMostWays = 16;
  /// How long a token is reused; its lifetime is longer than the longest request by this time.
  static constexpr std::chrono::seconds kTokenUse{60};

  /// `fleet` must outlive it.
  explicit KnownSandboxes(Fleet* fleet, std::size_t most = kMost);
  ~KnownSandboxes();
  KnownSandboxes(const KnownSandboxes&) = delete;
  KnownSandboxes& operator=(const KnownSandboxes&) = delete;

  /// See Sandboxes::run_of and Sandboxes::agent.
  [[nodiscard]] Task<Result<std::string>> run_of(SandboxRef of);
  [[nodiscard]] Task<Result<Endpoint>> agent(SandboxRef of, TokenGrant grant, Look look);

  /// `nonce_of` the sandbox's record, whether it runs or not. What was not there is not looked for again for `kFresh`,
  /// unless this process has made it since: so long may the credentials of one be refused that another process has just
  /// made.
  [[nodiscard]] Task<Result<std::string>> nonce(SandboxRef of);

  void forget(const std::string& tenant, const std::string& id);
  void clear() noexcept {
    known_.clear();
    absent_.clear();
  }
  [[nodiscard]] std::size_t size() const noexcept { return known_.size(); }

 private:
  using Which = std::pair<std::string, std::string>;  ///< tenant and id
  struct Way {
    std::string scope;
    std::string subject;
    WallTime ends;      ///< end of its token
    Endpoint endpoint;  ///< endpoint that returns only that token
    std::chrono::seconds lifetime;
    std::function<Result<std::string>()> sign;  ///< signs another token for `lifetime`
  };
  struct Known {
    std::string run;
    std::string nonce;
    std::unique_ptr<Freshness> freshness;
    SteadyTime looked_at;
    SteadyTime used_at;
    SteadyTime away_until{};  ///< the host did not answer; it is not asked again before this time
    std::vector<Way> ways = {};
    [[nodiscard]] bool is_away() const;
    [[nodiscard]] bool holds() const;
    /// The way whose token lives until then, and hardly longer; null if there is none.
    [[nodiscard]] const Way* find(const TokenGrant& grant, WallTime until) const;
    /// An endpoint with a new token, created without the host.
    [[nodiscard]] std::optional<Endpoint> renewed(const TokenGrant& grant, WallTime until);
  };
  [[nodiscard]] Task<Result<std::shared_ptr<Known>>> look(SandboxRef of);
  /// Like `look`, also for a sleeping sandbox; its data is not kept, and its run is empty.
  [[nodiscard]] Task<Result<std::shared_ptr<Known>>> look_at_any(SandboxRef of, std::optional<Sandbox>* asleep);
  [[nodiscard]] bool is_absent(const Which& which);
  void note_absent(Which which);
  /// True if the known data may still be used, because this process has not changed the sandbox.
  [[nodiscard]] bool goes_on(const Which& which, const std::shared_ptr<Known>& before) const;
  /// Drops those among the next few whose freshness holds no longer: nobody may ask for them again.
  void drop_ended();
  void make_room();

  Fleet* fleet_;
  const std::size_t most_;
  std::map<Which, std::shared_ptr<Known>> known_;
  std::map<Which, SteadyTime> absent_;  ///< when it was looked for
  std::uint64_t changes_ = 0;           ///< number of reported changes
  Which examined_;                      ///< by `drop_ended`, the last one
};

}  // namespace skiff::container::serve
