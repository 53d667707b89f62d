#include "container/serve/keys/account_cache.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/log/log.hpp"

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

std::optional<std::optional<Account>> AccountCache::known(const std::string& digest) const {
  const SteadyTime now = std::chrono::steady_clock::now();
  if (const auto found = good_.find(digest); found != good_.end() && now - found->second.asked_at < kFresh) {
    return found->second.account;
  }
  const auto found = refused_.find(digest);
  if (found != refused_.end() && now - found->second < kFresh) return std::optional<Account>{};
  return std::nullopt;
}

void AccountCache::forget_old(bool is_full) {
  const SteadyTime now = std::chrono::steady_clock::now();
  if (is_full || good_.size() >= kMostKnown)
    std::erase_if(good_, [now](const auto& one) { return now - one.second.asked_at >= kGood; });
  if (refused_.size() >= kMostKnown)
    std::erase_if(refused_, [now](const auto& one) { return now - one.second >= kFresh; });
  if (refused_.size() >= kMostKnown) refused_.clear();  // they are reviewed again, in their turn
}

void AccountCache::note(const std::string& digest, const std::optional<Account>& account, SteadyTime asked_at) {
  good_.erase(digest);
  refused_.erase(digest);
  forget_old(account && !good_of_.leaves_room(account->namespace_name));
  if (!account) {
    refused_.emplace(digest, asked_at);
  } else if (good_of_.leaves_room(account->namespace_name)) {
    good_.emplace(digest, Good{.account = *account, .asked_at = asked_at, .part = {good_of_, account->namespace_name}});
  }
}

Task<Result<std::optional<Account>>> AccountCache::review(std::string token, std::string digest) {
  const SteadyTime asked_at = std::chrono::steady_clock::now();
  auto account = co_await reviewer_->review(std::move(token));
  if (!account) {
    ++reviews_[2];
    log::warning("the cluster does not identify the token", {{"error", account.error().message}});
    co_return fail(Errc::cluster_unavailable, "the cluster cannot verify the token now: try again");
  }
  ++reviews_[*account ? 0 : 1];
  note(digest, *account, asked_at);
  co_return std::move(*account);
}

Task<Result<std::optional<Account>>> AccountCache::look(std::string token, std::string digest, std::string source) {
  for (;;) {
    if (auto account = known(digest)) co_return std::move(*account);
    const auto others = under_way_.find(digest);
    if (others == under_way_.end()) break;
    const std::shared_ptr<Review> review = others->second;
    co_await review->done.wait();
    if (review->answer) co_return *review->answer;
  }
  const auto before = good_.find(digest);
  const bool was_good = before != good_.end() && std::chrono::steady_clock::now() - before->second.asked_at < kGood;
  if (!was_good && !waiting_.leaves_room(source)) {
    co_return fail(Errc::resource_exhausted, "too many tokens from your address are being verified: try again");
  }
  const Shares::Part waits{waiting_, source, was_good ? std::size_t{0} : std::size_t{1}};
  // However the review ends, the waiting requests go on.
  const auto end = [this, &digest](Review* review) {
    under_way_.erase(digest);
    review->done.notify_all();
  };
  const auto kept = under_way_.emplace(digest, std::make_shared<Review>(executor_)).first->second;
  const std::unique_ptr<Review, decltype(end)> ending{kept.get(), end};
  std::string who = was_good ? before->second.account.namespace_name : std::move(source);
  const FairSemaphore::Permit permit = co_await (was_good ? of_good_ : of_unknown_).acquire(std::move(who));
  kept->answer.emplace(co_await review(std::move(token), digest));
  co_return *kept->answer;
}

Task<Result<ApiKey>> AccountCache::find(std::string token, std::string source) {
  const auto ends = end_of_account_token(token);
  const auto now = std::chrono::floor<std::chrono::seconds>(wall_now().time_since_epoch()).count();
  if (!ends || *ends <= now) co_return refused();
  std::string digest = sha256_hex(token);
  SKIFF_CO_TRY(auto account, co_await look(std::move(token), std::move(digest), std::move(source)));
  if (!account) co_return refused();
  if (tenants_.size() < kMostKnown) tenants_.insert(account->namespace_name);
  co_return key_of(*account, *ends);
}

}  // namespace skiff::container::serve
