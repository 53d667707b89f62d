#include "container/cli/cluster_accounts.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/sandbox/sandbox.hpp"

namespace skiff::container {
namespace {

/// An API server that does not support audiences answers without one; its token is then not for this audience.
bool is_for_audience(const kube::Object& review) {
  const nlohmann::json* audiences = review.find({"status", "audiences"});
  return audiences != nullptr && audiences->is_array() &&
         std::ranges::any_of(*audiences,
                             [](const nlohmann::json& one) { return one == nlohmann::json(serve::kTokenAudience); });
}

}  // namespace

Task<Result<std::optional<serve::Account>>> ClusterAccounts::review(std::string token) {
  SKIFF_CO_TRY(auto review,
               co_await cluster_->client().review_token(std::move(token), std::string{serve::kTokenAudience}));
  if (!review.is_true({"status", "authenticated"}) || !is_for_audience(review)) co_return std::nullopt;
  const std::string user = review.text({"status", "user", "username"});
  if (!user.starts_with(serve::kAccountPrefix)) co_return std::nullopt;
  const std::string_view rest = std::string_view{user}.substr(serve::kAccountPrefix.size());
  const std::size_t colon = rest.find(':');
  if (colon == std::string_view::npos || colon + 1 == rest.size()) co_return std::nullopt;
  serve::Account account{.namespace_name = std::string{rest.substr(0, colon)},
                         .name = std::string{rest.substr(colon + 1)}};
  if (!check_name(account.namespace_name)) co_return std::nullopt;
  co_return account;
}

}  // namespace skiff::container
