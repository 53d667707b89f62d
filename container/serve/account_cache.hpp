#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/event.hpp"
#include "base/fair_turnstile.hpp"
#include "base/shares.hpp"
#include "base/task.hpp"
#include "container/serve/api_key.hpp"
#include "container/serve/gateway/credential_form.hpp"

namespace skiff::container::serve {

/// A ServiceAccount of the cluster.
struct Account {
  std::string namespace_name;
  std::string name;
};

/// Asks the cluster. Reactor thread only.
class TokenReviewer {
 public:
  TokenReviewer() = default;
  TokenReviewer(const TokenReviewer&) = delete;
  TokenReviewer& operator=(const TokenReviewer&) = delete;
  virtual ~TokenReviewer() = default;

  /// Whose token it is, if it is valid now and for `kTokenAudience`; nothing for any other one.
  [[nodiscard]] virtual Task<Result<std::optional<Account>>> review(std::string token) = 0;
};

/// What projected tokens of service accounts allow: the namespace of the account is the tenant. What the cluster has
/// said of a token is believed for `kFresh`, and not beyond its end. Strangers don't make it ask: what is not for this
/// audience, or over, is refused by what it says itself, each text is asked for once at a time, and only so many at
/// all. They keep nobody out either: what was good a short time ago is asked for in turns of its own, and of what is
/// not known each source waits for as much as the others leave free. Reactor thread only.
class AccountCache {
 public:
  static constexpr std::chrono::milliseconds kFresh{1000};
  static constexpr std::chrono::minutes kGood{10};   ///< that a token has turns of its own after it was good
  static constexpr std::size_t kAtOnce = 8;          ///< reviews, of what was good and of what is not known each
  static constexpr std::size_t kMostWaiting = 256;   ///< for one, of what is not known; half for one source alone
  static constexpr std::size_t kMostKnown = 10'000;  ///< good tokens, half for one namespace; refused texts; namespaces

  /// `reviewer` must outlive it.
  AccountCache(Executor executor, TokenReviewer* reviewer)
      : executor_{executor},
        reviewer_{reviewer},
        of_good_{executor, kAtOnce, kAtOnce / 2},
        of_unknown_{executor, kAtOnce, kAtOnce / 2},
        waiting_{kMostWaiting},
        good_of_{kMostKnown} {}

  /// As a key with the scopes create and use, called as Kubernetes calls the account. `unauthenticated`;
  /// `resource_exhausted` when too many are asked for; `io_error` when the cluster can't be asked.
  /// `source`: where it comes from.
  [[nodiscard]] Task<Result<ApiKey>> find(std::string token, std::string source);
  /// The namespaces of those who have come.
  [[nodiscard]] const std::set<std::string>& tenants() const noexcept { return tenants_; }

 private:
  struct Good {
    Account account;
    SteadyTime asked_at;
    Shares::Part part;  ///< of its namespace
  };
  /// One that goes on: who shows the same token meanwhile gets its answer, however long it took.
  struct Review {
    explicit Review(Executor executor) : done{std::move(executor)} {}
    Event done;
    std::optional<Result<std::optional<Account>>> answer{};  ///< none: it was given up
  };
  [[nodiscard]] Task<Result<std::optional<Account>>> look(std::string token, std::string digest, std::string source);
  [[nodiscard]] Task<Result<std::optional<Account>>> review(std::string token, std::string digest);
  /// What was found out a short time ago; nothing: it is to be asked for.
  [[nodiscard]] std::optional<std::optional<Account>> known(const std::string& digest) const;
  void note(const std::string& digest, const std::optional<Account>& account, SteadyTime asked_at);
  void forget_old(bool is_full);

  Executor executor_;
  TokenReviewer* reviewer_;
  FairTurnstile of_good_;
  FairTurnstile of_unknown_;
  Shares waiting_;
  std::map<std::string, std::shared_ptr<Review>> under_way_;  ///< by the token's digest
  Shares good_of_;
  std::map<std::string, Good> good_;
  std::map<std::string, SteadyTime> refused_;
  std::set<std::string> tenants_;
};

}  // namespace skiff::container::serve
