#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/json/schema.hpp"
#include "runtime/api/requests.hpp"
#include "runtime/dialects/fastapi.hpp"
#include "runtime/dialects/http_dialect.hpp"
#include "sessions/command.hpp"
#include "sessions/session.hpp"

/// Functions that the handlers of the REST routes share.
namespace skiff::runtime::dialects::kubebox {

/// Reads the JSON body, of at most `most` bytes. Unknown fields are ignored, as in the original. Errors: those of
/// `HttpExchange::read_body` and of `protocol::decode`.
template <class T>
Task<Result<T>> read_json(Request* request, std::size_t most) {
  SKIFF_CO_TRY(auto text, co_await request->http.read_body(most));
  Result<T> decoded;
  std::function<void()> decode = [&] {
    std::vector<std::string> ignored;
    decoded = protocol::decode<T>(text, {.max_bytes = most}, &ignored);
  };
  co_await by_size(&request->agent.pools.long_work, text.size(), std::move(decode));
  co_return decoded;
}

/// Finds the session with the client's id, and notes it for the audit log. Errors: session_not_found.
[[nodiscard]] Result<std::shared_ptr<sessions::Session>> session_of(Request* request, std::string_view of_client);

/// A body, and the session that its `session_id` names.
template <class T>
struct Asked {
  T body;
  std::shared_ptr<sessions::Session> session;
};
/// Reads a body and finds its session. Errors: those of `read_json` and `session_of`.
template <class T>
Task<Result<Asked<T>>> read_asked(Request* request, std::optional<std::size_t> most = {}) {
  SKIFF_CO_TRY(auto body, co_await read_json<T>(request, most.value_or(request->agent.settings.max_json_bytes)));
  SKIFF_CO_TRY(auto session, session_of(request, body.session_id));
  co_return Asked<T>{std::move(body), std::move(session)};
}

/// Starts a command of the agent under the id of a process, and notes it for the audit log.
[[nodiscard]] Task<Result<std::shared_ptr<sessions::Command>>> start_process(Request* request,
                                                                             std::shared_ptr<sessions::Session> session,
                                                                             api::CommandRequest asked,
                                                                             std::uint64_t process);

/// Waits until the command has exited. If the client goes before, the command is ended: nobody could ask for its
/// result. True: the response has begun meanwhile, with white space in front of the JSON. Errors: cancelled.
[[nodiscard]] Task<Result<bool>> until_exit(Request* request, std::shared_ptr<sessions::Command> command);

/// Answers with JSON; `begun` is the result of `until_exit`.
[[nodiscard]] Task<Result<>> answer(Request* request, std::string json, bool begun = false, unsigned status = 200);

}  // namespace skiff::runtime::dialects::kubebox
