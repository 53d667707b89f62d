#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "container/serve/route.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container::serve {

/// JSON text, with a newline at its end.
[[nodiscard]] protocol::HttpResponse json_answer(unsigned status, std::string text);
/// 204.
[[nodiscard]] protocol::HttpResponse empty_answer();

/// What E2B's SDKs take for a sandbox that does not run, where they ask its agent: 502.
[[nodiscard]] protocol::HttpResponse unreachable_answer(std::string_view sandbox, std::string_view why);

/// An error that is the cluster's, or the server's own with the cluster: a tenant can do nothing about it, and is not
/// told the names of accounts and addresses that stand in it.
[[nodiscard]] bool is_cluster_fault(const Error& error);
/// As a tenant is told of it.
[[nodiscard]] Error for_tenants(const Error& error);

/// An error in the words of a face; `request_id` may be empty.
[[nodiscard]] protocol::HttpResponse error_answer(Face face, const Error& error, std::string_view request_id);

}  // namespace skiff::container::serve
