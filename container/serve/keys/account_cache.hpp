#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/async/event.hpp"
#include "base/async/fair_semaphore.hpp"
#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/shares.hpp"
#include "container/serve/gateway/credential_form.hpp"
#include "container/serve/keys/api_key.hpp"

namespace skiff::container::serve {

/// A ServiceAccount of the cluster.
struct Account {
  std::string namespace_name;
  std::string name;
};

/// Verifies tokens of service accounts in the cluster. Reactor thread only.
class TokenReviewer {
 public:
  TokenReviewer() = default;
  TokenReviewer(const TokenReviewer&) = delete;
  TokenReviewer& operator=(const TokenReviewer&) = delete;
  virtual ~TokenReviewer() = default;

  /// The account of the token, if it is valid now and for `kTokenAudience`; nullopt for any other token.
  [[nodiscard]] virtual Task<Result<std::optional<Account>>> review(std::string token) = 0;
};

/// Authenticates projected tokens of service accounts; the namespace of the account is the tenant. The cluster's answer
/// about a token is used for `kFresh`, but not after the token's end. Strangers cannot cause many reviews: a token for
/// another audience, or that has expired, is refused by its own claims; each token is reviewed once at a time, and the
/// number of reviews is limited. Strangers cannot block other clients either: tokens that were good a short time ago
/// have turns of their own, and for unknown tokens each source may wait only for a part of the free turns. Reactor
/// thread only.
class AccountCache {
 public:
  static constexpr std::chrono::milliseconds kFresh{1000};
  static constexpr std::chrono::minutes kGood{10};  ///< how long after a good review a token has turns of its own
  static constexpr std::size_t kAtOnce = 8;         ///< reviews at a time, for good and for unknown tokens each
  static constexpr std::size_t kMostWaiting =
      256;  ///< most waiting requests with unknown tokens; half of them from one source
  static constexpr std::size_t kMostKnown =
      10'000;  ///< most good tokens (half from one namespace), refused tokens, and namespaces

  /// `reviewer` must outlive it.
  AccountCache(Executor executor, TokenReviewer* reviewer)
      : executor_{executor},
        reviewer_{reviewer},
        of_good_{executor, kAtOnce, kAtOnce / 2},
        of_unknown_{executor, kAtOnce, kAtOnce / 2},
        waiting_{kMostWaiting},
        good_of_{kMostKnown} {}

  /// Returns a key with the scopes create and use and the account's name in Kubernetes. `unauthenticated`;
  /// `resource_exhausted` if too many tokens are being reviewed; `io_error` if the cluster does not answer. `source` is
  /// the address of the client.
  [[nodiscard]] Task<Result<ApiKey>> find(std::string token, std::string source);
  /// The namespaces of the accounts that have been authenticated.
  [[nodiscard]] const std::set<std::string>& tenants() const noexcept { return tenants_; }

  /// How reviews have ended: the account is known, the token is not valid, or the cluster did not answer.
  static constexpr std::array<std::string_view, 3> kReviewEnds{"valid", "refused", "failed"};
  using ReviewCounts = std::array<std::uint64_t, kReviewEnds.size()>;
  [[nodiscard]] const ReviewCounts& reviews() const noexcept { return reviews_; }

 private:
  struct Good {
    Account account;
    SteadyTime asked_at;
    Shares::Part part;  ///< its part of the namespace's share
  };
  /// A review that is under way: requests with the same token wait for its answer.
  struct Review {
    explicit Review(Executor executor) : done{std::move(executor)} {}
    Event done;
    std::optional<Result<std::optional<Account>>> answer{};  ///< empty: it was given up
  };
  [[nodiscard]] Task<Result<std::optional<Account>>> look(std::string token, std::string digest, std::string source);
  [[nodiscard]] Task<Result<std::optional<Account>>> review(std::string token, std::string digest);
  /// The answer of a recent review; nullopt if the token has to be reviewed.
  [[nodiscard]] std::optional<std::optional<Account>> known(const std::string& digest) const;
  void note(const std::string& digest, const std::optional<Account>& account, SteadyTime asked_at);
  void forget_old(bool is_full);

  Executor executor_;
  TokenReviewer* reviewer_;
  FairSemaphore of_good_;
  FairSemaphore of_unknown_;
  Shares waiting_;
  std::map<std::string, std::shared_ptr<Review>> under_way_;  ///< keyed by the token's digest
  Shares good_of_;
  std::map<std::string, Good> good_;
  std::map<std::string, SteadyTime> refused_;
  std::set<std::string> tenants_;
  ReviewCounts reviews_{};
};

}  // namespace skiff::container::serve
