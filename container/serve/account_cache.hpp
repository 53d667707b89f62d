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
#include "base/in_parallel.hpp"
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
/// all. Reactor thread only.
class AccountCache {
 public:
  static constexpr std::chrono::milliseconds kFresh{1000};
  static constexpr std::size_t kAtOnce = 8;         ///< reviews
  static constexpr std::size_t kMostWaiting = 256;  ///< for one
  static constexpr std::size_t kMostKnown = 1000;   ///< tokens a second, and namespaces

  /// `reviewer` must outlive it.
  AccountCache(Executor executor, TokenReviewer* reviewer)
      : executor_{executor}, reviewer_{reviewer}, reviews_{executor, kAtOnce} {}

  /// As a key with the scopes create and use, called as Kubernetes calls the account. `unauthenticated`;
  /// `resource_exhausted` when too many are asked for; `io_error` when the cluster can't be asked.
  [[nodiscard]] Task<Result<ApiKey>> find(std::string token);
  /// The namespaces of those who have come.
  [[nodiscard]] const std::set<std::string>& tenants() const noexcept { return tenants_; }

 private:
  struct Known {
    std::optional<Account> account;
    SteadyTime asked_at;
  };
  /// One that goes on: who shows the same token meanwhile gets its answer, however long it took.
  struct Review {
    explicit Review(Executor executor) : done{std::move(executor)} {}
    Event done;
    std::optional<Result<std::optional<Account>>> answer{};  ///< none: it was given up
  };
  [[nodiscard]] Task<Result<std::optional<Account>>> look(std::string token, std::string digest);
  [[nodiscard]] bool has_room();

  Executor executor_;
  TokenReviewer* reviewer_;
  Turnstile reviews_;
  std::size_t waiting_ = 0;
  std::map<std::string, std::shared_ptr<Review>> under_way_;  ///< by the token's digest
  std::map<std::string, Known> known_;
  std::set<std::string> tenants_;
};

}  // namespace skiff::container::serve
