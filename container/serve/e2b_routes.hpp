#pragma once

#include "container/serve/route.hpp"

/// The control API that E2B's SDKs speak (docs/serve.md): what it has beyond sandboxes is refused by name.
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
/// The first version of it, which has them as lines, too.
[[nodiscard]] Task<Result<protocol::HttpResponse>> log_lines(Call* call);

/// 501, each with a sentence that says what to use.
[[nodiscard]] Task<Result<protocol::HttpResponse>> refuse_network(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> refuse_memory(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> refuse_builds(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> refuse_volumes(Call* call);
[[nodiscard]] Task<Result<protocol::HttpResponse>> refuse_secrets(Call* call);

}  // namespace skiff::container::serve::e2b
