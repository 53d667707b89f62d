#pragma once

#include "container/serve/route.hpp"

/// The server's own API.
namespace skiff::container::serve::own {

[[nodiscard]] Task<Result<protocol::HttpResponse>> health(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> ready(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> describe_api(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> show_metrics(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> show_key(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> create(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> list(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> remove(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> stop(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> start(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> extend(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> show_network(Call* call);
/// Replaces the rules of its egress by name.
[[nodiscard]] Task<Result<protocol::HttpResponse>> set_network(Call* call);
/// Adds some of its rules and removes some.
[[nodiscard]] Task<Result<protocol::HttpResponse>> change_network(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> create_token(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> create_preview(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> list_pools(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> show_pool(Call* call);

}  // namespace skiff::container::serve::own
