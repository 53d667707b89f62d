#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "container/serve/route.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container::serve {

/// An answer with JSON text and a newline at its end.
[[nodiscard]] protocol::HttpResponse json_answer(unsigned status, std::string text);
/// An answer with status 204.
[[nodiscard]] protocol::HttpResponse empty_answer();

/// The answer (502) that E2B's SDKs understand as a sandbox that does not run, in requests to its agent.
[[nodiscard]] protocol::HttpResponse unreachable_answer(std::string_view sandbox, std::string_view why);

/// True for an error of the cluster, or of the server's access to it: a tenant cannot fix it, and must not see the
/// names of accounts and addresses in it.
[[nodiscard]] bool is_cluster_fault(const Error& error);
/// An error about rules of egress by name, for clients that know `field` and not the flag --egress.
[[nodiscard]] Error about_rules(Error error, std::string_view field);
/// The error in the form for tenants.
[[nodiscard]] Error for_tenants(const Error& error);

/// An error in the format of a face; `request_id` may be empty.
[[nodiscard]] protocol::HttpResponse error_answer(Face face, const Error& error, std::string_view request_id);

}  // namespace skiff::container::serve
