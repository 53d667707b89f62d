#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/json/schema.hpp"
#include "runtime/dialects/http_dialect.hpp"
#include "sessions/session.hpp"

/// What the handlers of the REST routes share.
namespace skiff::runtime::dialects::kubebox {

/// The JSON body. Fields that are not known are passed over, as in the original. Errors: those of `protocol::decode`.
template <class T>
Task<Result<T>> read_json(Request* request) {
  const std::size_t most = request->agent.settings.max_json_bytes;
  auto text = co_await request->http.read_body(most);
  if (!text) co_return std::unexpected{std::move(text.error())};
  std::vector<std::string> ignored;
  co_return protocol::decode<T>(*text, {.max_bytes = most}, &ignored);
}

/// A parameter that must be there. Errors: missing_field.
[[nodiscard]] Result<std::string> query(const Request& request, std::string_view name);

/// The session of this id, noted for the audit log. Errors: session_not_found.
[[nodiscard]] Result<std::shared_ptr<sessions::Session>> session_of(Request& request, std::string_view of_client);

[[nodiscard]] Task<Result<>> answer(Request* request, std::string json);
[[nodiscard]] Task<Result<>> answer_success(Request* request);

/// Ends with the command's exit. When the client goes before, the command is ended: nobody could ask for its result.
/// While it waits it sends white space, which may go before a JSON value (RFC 8259 section 2), if `begun`: once the
/// response was. Errors: cancelled.
[[nodiscard]] Task<Result<>> until_exit(Request* request, std::shared_ptr<sessions::Command> command, bool begun);

}  // namespace skiff::runtime::dialects::kubebox
