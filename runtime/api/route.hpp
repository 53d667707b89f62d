#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "protocol/json/openapi.hpp"
#include "protocol/service/route.hpp"
#include "protocol/service/router.hpp"
#include "runtime/auth/scopes.hpp"

namespace skiff::runtime::api {

struct Call;

using protocol::service::Body;
using protocol::service::QueryParameter;

/// Schemas that parameters share.
inline constexpr std::string_view kNumberParameter = R"({"type":"integer","minimum":0,"maximum":18446744073709551615})";
inline constexpr std::string_view kFlagParameter = R"({"type":"boolean"})";

inline constexpr std::string_view kAlwaysLong = "*";

/// One row of the route table. A query parameter that a row does not name is refused. A row for every method passes
/// requests on to another server, with their query and the fields that are not the agent's. A row without a scope needs
/// no credential. Long work on files (`long_with`) has threads of its own, so that it does not delay short work, and
/// ends soon after its client has disconnected.
using Route = protocol::service::Route<Task<Result<>> (*)(Call& call), std::optional<Scope>>;

/// The table of all routes.
[[nodiscard]] std::span<const Route> routes();

/// Finds the row for a request. `/v1/commands...` and `/v1/files...` mean the default session.
[[nodiscard]] protocol::service::Match find_route(std::string_view method, const protocol::Target& target);

/// The default address of an agent, for clients.
inline constexpr std::string_view kDefaultHost = "127.0.0.1:7070";

/// The OpenAPI 3.0 document of the table. It has each route once, without the short paths for the default session.
[[nodiscard]] const std::string& openapi_document();
/// The AsyncAPI 3.0 document of the routes with messages: WebSockets and streams.
[[nodiscard]] const std::string& asyncapi_document();

}  // namespace skiff::runtime::api
