#pragma once

#include "container/serve/route.hpp"

/// The control API of E2B's SDKs (docs/serve.md). Its features beyond sandboxes are refused with an explanation.
namespace skiff::container::serve::e2b {

[[nodiscard]] Task<Result<protocol::HttpResponse>> create(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> list(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> list_running(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> show(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> kill(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> set_timeout(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> refresh(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> connect(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> pause(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> resume(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> metrics(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> logs(Call* call);
/// The first version of `logs`, whose answer also has them as lines.
[[nodiscard]] Task<Result<protocol::HttpResponse>> log_lines(Call* call);

/// Replaces what a sandbox with egress by name may reach.
[[nodiscard]] Task<Result<protocol::HttpResponse>> set_network(Call* call);

/// These answer 501 with a text that says what to use instead.
[[nodiscard]] Task<Result<protocol::HttpResponse>> refuse_memory(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> refuse_builds(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> refuse_volumes(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> refuse_secrets(Call* call);

}  // namespace skiff::container::serve::e2b
