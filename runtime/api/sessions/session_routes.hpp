#pragma once

#include "runtime/api/answers/answer.hpp"
#include "runtime/api/call.hpp"

/// Handlers of /v1/sessions.
namespace skiff::runtime::api {

[[nodiscard]] Task<Result<>> create_session(Call& call);
[[nodiscard]] Task<Result<>> put_session(Call& call);
[[nodiscard]] Task<Result<>> list_sessions(Call& call);
[[nodiscard]] Task<Result<>> show_session(Call& call);
[[nodiscard]] Task<Result<>> patch_session(Call& call);
[[nodiscard]] Task<Result<>> delete_session(Call& call);
[[nodiscard]] Task<Result<>> list_processes(Call& call);
[[nodiscard]] Task<Result<>> wait_for_condition(Call& call);

struct SessionOf;
struct ProcessOf;
// Answers of these handlers.
[[nodiscard]] const Answer<SessionOf>& session_answer();
[[nodiscard]] const Answer<ProcessOf>& process_answer();

/// Appends a session as the routes show it.
void append_session(std::string& out, const Agent& agent, const sessions::Session& session);

}  // namespace skiff::runtime::api
