#include "container/serve/api/reader_right.hpp"

#include "container/serve/keys/account_cache.hpp"
#include "container/serve/keys/credential.hpp"
#include "container/serve/list/list_feeds.hpp"
#include "container/serve/service.hpp"

namespace skiff::container::serve::own {

Task<std::optional<Error>> ReaderRight::find_end() {
  if (!co_await holds()) {
    co_return Error{.code = Errc::unauthenticated, .message = "the API key is not valid any more"};
  }
  if (call_->service.lists().draining()) {
    co_return Error{.code = Errc::draining, .message = "this server is about to stop: connect again"};
  }
  co_return std::nullopt;
}

Task<bool> ReaderRight::holds() {
  KeyCache& keys = call_->service.keys();
  if (!co_await keys.holds(call_->key)) co_return false;
  const SteadyTime now = std::chrono::steady_clock::now();
  if (!call_->key.name.starts_with(kAccountPrefix) || now - reviewed_at_ < Service::kBetweenReviews) co_return true;
  // An account may be removed before its token ends.
  reviewed_at_ = now;
  const auto shown = presented_key(call_->http.request().headers);
  if (!shown) co_return false;
  auto found = co_await keys.find(*shown);
  co_return found || found.error().code != Errc::unauthenticated;
}

}  // namespace skiff::container::serve::own
