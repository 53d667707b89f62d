#include "container/serve/account_cache.hpp"

#include <cstdint>
#include <utility>

#include "base/log.hpp"
#include "container/serve/gateway/counted.hpp"

namespace skiff::container::serve {
namespace {

std::unexpected<Error> refused() {
  return fail(Errc::unauthenticated, "the token is not valid here");
}

ApiKey key_of(const Account& account, std::int64_t ends) {
  std::string name = std::string{kAccountPrefix} + account.namespace_name + ":" + account.name;
  std::string digest = sha256_hex(name);
  return {.name = std::move(name),
          .sha256 = std::move(digest),
          .tenant = account.namespace_name,
          .scopes = {KeyScope::create, KeyScope::use},
          .created_at = {},
          .expires_ms = ends * 1000};
}

}  // namespace

bool AccountCache::has_room() {
  const SteadyTime now = std::chrono::steady_clock::now();
  std::erase_if(known_, [now](const auto& one) { return now - one.second.asked_at >= kFresh; });
  return known_.size() + under_way_.size() < kMostKnown;
}

Task<Result<std::optional<Account>>> AccountCache::look(std::string token, std::string digest) {
  for (;;) {
    const auto found = known_.find(digest);
    if (found != known_.end() && std::chrono::steady_clock::now() - found->second.asked_at < kFresh) {
      co_return found->second.account;
    }
    const auto others = under_way_.find(digest);
    if (others == under_way_.end()) break;
    const std::shared_ptr<Review> review = others->second;
    co_await review->done.wait();
    if (review->answer) co_return *review->answer;
  }
  if (waiting_ >= kMostWaiting || !has_room()) {
    co_return fail(Errc::resource_exhausted, "too many tokens are being verified: try again");
  }
  const Counted waits{waiting_};
  // However it ends, whoever waits goes on.
  const auto end = [this, &digest](Review* review) {
    under_way_.erase(digest);
    review->done.notify_all();
  };
  const auto kept = under_way_.emplace(digest, std::make_shared<Review>(executor_)).first->second;
  const std::unique_ptr<Review, decltype(end)> ending{kept.get(), end};
  const Turnstile::Place place = co_await reviews_.enter();
  const SteadyTime asked_at = std::chrono::steady_clock::now();
  auto account = co_await reviewer_->review(std::move(token));
  if (!account) {
    log::warning("the cluster does not identify the token", {{"error", account.error().message}});
    kept->answer = fail(Errc::io_error, "the cluster cannot verify the token now: try again");
  } else {
    known_.insert_or_assign(digest, Known{.account = *account, .asked_at = asked_at});
    kept->answer.emplace(std::move(*account));
  }
  co_return *kept->answer;
}

Task<Result<ApiKey>> AccountCache::find(std::string token) {
  const auto ends = end_of_account_token(token);
  const auto now = std::chrono::floor<std::chrono::seconds>(wall_now().time_since_epoch()).count();
  if (!ends || *ends <= now) co_return refused();
  std::string digest = sha256_hex(token);
  SKIFF_CO_TRY(auto account, co_await look(std::move(token), std::move(digest)));
  if (!account) co_return refused();
  if (tenants_.size() < kMostKnown) tenants_.insert(account->namespace_name);
  co_return key_of(*account, *ends);
}

}  // namespace skiff::container::serve
