#pragma once

#include <concepts>
#include <optional>
#include <string_view>
#include <utility>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "protocol/http/server/exchange.hpp"
#include "protocol/service/router.hpp"

namespace skiff::protocol::service {

/// How a face (a protocol at an address) differs from others. `Visit` is one request on its way; it lives until `tell`
/// has returned. The functions are called in this order:
/// - `find` looks for the route, and sets `match`.
/// - `guard` judges the head: an error, or an answer that is all there is to say (to a browser's preflight).
/// - `identify` finds out who calls and marks the connection as authenticated. Where no route was found it decides
/// whether a
///   stranger may learn that.
/// - `handle` runs the route's handler.
/// - `problem` says an error in the words of the face.
/// - `tell` tells metrics and logs of the answer.
template <class P>
concept Policy = requires(typename P::Visit* visit, const Error& error, Result<> outcome) {
  { visit->http } -> std::convertible_to<HttpExchange&>;
  { visit->match } -> std::convertible_to<Match>;
  { P::kNoSuchPath } -> std::convertible_to<std::string_view>;
  { P::find(visit) } -> std::same_as<void>;
  { P::guard(visit) } -> std::same_as<Result<std::optional<HttpResponse>>>;
  { P::identify(visit) } -> std::same_as<Task<Result<>>>;
  { P::handle(visit) } -> std::same_as<Task<Result<>>>;
  { P::problem(visit, error) } -> std::same_as<HttpResponse>;
  { P::tell(visit, outcome) } -> std::same_as<void>;
};

template <Policy P>
Task<Result<>> admit_and_handle(typename P::Visit* visit) {
  P::find(visit);
  SKIFF_CO_TRY(auto answer, P::guard(visit));
  if (answer) co_return co_await visit->http.respond(std::move(*answer));
  SKIFF_CO_TRY_VOID(co_await P::identify(visit));
  if (!visit->match.is_found()) {
    if (!visit->match.allow.empty()) visit->http.extra_headers().set("Allow", visit->match.allow);
    co_return std::unexpected{no_route(visit->match, P::kNoSuchPath)};
  }
  co_return co_await P::handle(visit);
}

/// Takes one request from its head to its end.
template <Policy P>
Task<> dispatch(typename P::Visit visit) {
  const Result<> outcome = co_await admit_and_handle<P>(&visit);
  if (!outcome && visit.http.status() == 0) {
    auto response = P::problem(&visit, outcome.error());
    (void)co_await visit.http.respond(std::move(response));
  }
  P::tell(&visit, outcome);
}

}  // namespace skiff::protocol::service
