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

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/task.hpp"
#include "container/sandbox/sighting.hpp"
#include "container/serve/fleet.hpp"
#include "container/serve/gateway/gateway.hpp"

namespace skiff::container::serve {

/// What the gateway has found out of the sandboxes that run, so that it need not ask for each request. Nobody is told
/// of one that was removed, stopped or replaced: where the driver can tell (`Driver::sight`) from the next request on,
/// else for `kFresh` at most, and at once where this process has done it. What is read while it changes is not kept.
/// While the host does not answer, nobody can change a sandbox either: what was known goes on, for `kAway` at most.
/// Reactor thread only.
class KnownSandboxes {
 public:
  /// How old it may be where nothing says that it has changed.
  static constexpr std::chrono::milliseconds kFresh{1000};
  static constexpr std::chrono::minutes kAway{5};
  /// For so long the host is waited for where something is known, and where nothing is.
  static constexpr std::chrono::milliseconds kPatience{2'000};
  static constexpr std::chrono::milliseconds kFirstPatience{15'000};
  /// Sandboxes: those that were asked for last. Each may hold a descriptor.
  static constexpr std::size_t kMost = 1000;
  /// What was not there, and is not looked for again for `kFresh`: a stranger's signature has all tenants looked at.
  static constexpr std::size_t kMostAbsent = 10'000;
  /// Ways of one sandbox: they differ by whom their tokens are for, what they allow and their ends.
  static constexpr std::size_t kMostWays = 16;
  /// For so long a token is used again; it lives that much longer than the request that it was made for may last.
  static constexpr std::chrono::seconds kTokenUse{60};

  /// `fleet` must outlive it.
  explicit KnownSandboxes(Fleet* fleet, std::size_t most = kMost);
  ~KnownSandboxes();
  KnownSandboxes(const KnownSandboxes&) = delete;
  KnownSandboxes& operator=(const KnownSandboxes&) = delete;

  /// See Sandboxes::run_of and Sandboxes::agent.
  [[nodiscard]] Task<Result<std::string>> run_of(SandboxRef of);
  [[nodiscard]] Task<Result<Endpoint>> agent(SandboxRef of, TokenGrant grant, Look look);

  /// `nonce_of` its record, whether it runs or not. What was not there is not looked for again for `kFresh`, unless this
  /// process has made it since: so long may the credentials of one be refused that another process has just made.
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
    WallTime ends;      ///< of its token
    Endpoint endpoint;  ///< gives that token alone
    std::chrono::seconds lifetime;
    std::function<Result<std::string>()> sign;  ///< another one, for that time
  };
  struct Known {
    std::string run;
    std::string nonce;
    std::unique_ptr<Sighting> sighting;
    SteadyTime looked_at;
    SteadyTime used_at;
    SteadyTime away_until{};  ///< the host did not answer just now: it is not asked again before that
    std::vector<Way> ways = {};
    [[nodiscard]] bool is_away() const;
    [[nodiscard]] bool holds() const;
    /// Whose token lives until then, and hardly longer; null: none.
    [[nodiscard]] const Way* find(const TokenGrant& grant, WallTime until) const;
    /// One with a new token, without the host.
    [[nodiscard]] std::optional<Endpoint> renewed(const TokenGrant& grant, WallTime until);
  };
  [[nodiscard]] Task<Result<std::shared_ptr<Known>>> look(SandboxRef of);
  /// The same of one that may be asleep: then what was found is not kept, and its run is empty.
  [[nodiscard]] Task<Result<std::shared_ptr<Known>>> look_at_any(SandboxRef of, std::optional<Sandbox>* asleep);
  [[nodiscard]] bool is_absent(const Which& which);
  void note_absent(Which which);
  /// That it is still what was known before, as far as nobody here has changed it.
  [[nodiscard]] bool goes_on(const Which& which, const std::shared_ptr<Known>& before) const;
  void make_room();

  Fleet* fleet_;
  const std::size_t most_;
  std::map<Which, std::shared_ptr<Known>> known_;
  std::map<Which, SteadyTime> absent_;  ///< when it was looked for
  std::uint64_t changes_ = 0;           ///< that were told of
};

}  // namespace skiff::container::serve
