#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace skiff {

/// Every code that an error can carry, by its stable word: the `code` of a problem document (RFC 9457). Codes are only
/// ever added. The sentence appears in docs/errors.md only, never in a program. `protocol/json/problem.cpp` maps each
/// code to an HTTP status.
// clang-format off
#define SKIFF_ERROR_CODES(X)                                                                                           \
  X(invalid_request,        "The request is contradictory: `detail` says why.")                                        \
  X(invalid_field,          "Wrong type, form or range: `field` names the input.")                                     \
  X(unknown_field,          "This version does not support the field: omit it, or send `Prefer: handling=lenient`.")   \
  X(missing_field,          "Add the field that `field` names.")                                                       \
  X(malformed_json,         "The body is not JSON: `detail` says at which byte.")                                      \
  X(invalid_id,             "An id matches `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`.")                                        \
  X(unauthenticated,        "Send a valid credential: `WWW-Authenticate` says how.")                                   \
  X(insufficient_scope,     "Use a credential with the route's scope, for this session.")                              \
  X(origin_not_allowed,     "The request comes from a web page: allow its origin with `--allowed-origin`.")            \
  X(host_not_allowed,       "Use a host name that is allowed, or allow this one with `--allowed-host`.")               \
  X(not_found,              "No route has this path.")                                                                 \
  X(method_not_allowed,     "The path exists: `Allow` lists its methods.")                                             \
  X(session_not_found,      "Create the session, or list the existing ones.")                                          \
  X(session_conflict,       "Another request has created the session: choose another id, or PATCH it.")                \
  X(session_is_stateful,    "The session's shell keeps this value: change it with a command.")                         \
  X(session_protected,      "The default session cannot be deleted.")                                                  \
  X(too_many_sessions,      "Delete a session, or raise `--max-sessions`.")                                            \
  X(command_not_found,      "No command with this id was started in the session.")                                     \
  X(command_conflict,       "The id was used with other content: choose another one.")                                 \
  X(command_forgotten,      "The command is no longer kept: choose another id to run it again.")                       \
  X(command_ended,          "The command has ended: read its result.")                                                 \
  X(instance_changed,       "The agent was restarted since `if_instance`; its commands are gone: start them again.")   \
  X(context_not_found,      "No context with this id was created in the session, or it was deleted.")                  \
  X(too_many_contexts,      "Delete a context that you no longer need.")                                               \
  X(language_unavailable,   "The sandbox lacks the program that runs this language: use another image or language.")   \
  X(too_many_commands,      "Wait for a command to end, or raise `--max-commands`.")                                   \
  X(cannot_switch_user,     "The agent or the credential lacks the privilege: omit `user`.")                           \
  X(user_not_found,         "The container's passwd has no such user: give a uid.")                                    \
  X(limit_unavailable,      "The limit needs a writable cgroup v2: `/v1/capabilities` lists what is available here.")  \
  X(isolation_unavailable,  "The kernel does not support it: `/v1/capabilities` lists what can be enforced here.")     \
  X(shell_unsuitable,       "Choose another shell, or create the session without `stateful` and `login`.")             \
  X(not_supported,          "This agent does not support the request: `detail` says what to use instead.")             \
  X(stdin_closed,           "The command accepts no more input: start it with `stdin_open`.")                          \
  X(stdin_offset_mismatch,  "Earlier bytes are missing: continue at the command's `stdin.offset`.")                    \
  X(not_a_terminal,         "Start the command with `tty`.")                                                           \
  X(unsupported_version,    "Use HTTP/1.1 or HTTP/1.0.")                                                               \
  X(unsupported_media_type, "Send one of the content types of the route.")                                             \
  X(not_acceptable,         "`Accept` must allow one of the content types of the route.")                              \
  X(payload_too_large,      "Send less at a time; `--max-json-bytes` and similar settings are the limits.")            \
  X(malformed_archive,      "The body is not a tar archive, or the archive is truncated or inconsistent.")             \
  X(headers_too_large,      "Send smaller headers, or raise `--max-header-bytes`.")                                    \
  X(target_too_long,        "Shorten path and query, or raise `--max-target-bytes`.")                                  \
  X(length_required,        "Send `Content-Length`, or a chunked body.")                                               \
  X(request_timeout,        "Send the request faster, or repeat it.")                                                  \
  X(expectation_failed,     "Only `Expect: 100-continue` is supported.")                                               \
  X(upgrade_required,       "The route is a WebSocket: send the upgrade headers.")                                     \
  X(too_many_connections,   "Reuse connections, or raise `--max-connections`.")                                        \
  X(range_not_satisfiable,  "The range begins after the end of the file: `Content-Range` has the file's size.")        \
  X(precondition_failed,    "The file does not match `If-Match` or `If-None-Match`: read it again.")                   \
  X(path_escapes_root,      "The path leads outside the session's roots: use one below them, or add an extra root.")   \
  X(path_not_found,         "The path does not exist, or a part of it is not a directory.")                            \
  X(not_a_regular_file,     "FIFOs, sockets, devices and links cannot be read or written.")                            \
  X(is_a_directory,         "List the directory, or name a file in it.")                                               \
  X(not_a_directory,        "The path must lead to a directory.")                                                      \
  X(directory_not_empty,    "Delete its entries, or send `recursive=true`.")                                           \
  X(already_exists,         "Choose another name, or send `overwrite`.")                                               \
  X(name_too_long,          "A name has at most 255 bytes, a path 4095.")                                              \
  X(too_many_links,         "The path has a chain of links that is too long or loops.")                                \
  X(checksum_mismatch,      "The content does not have the given SHA-256. Nothing was changed: send it again.")        \
  X(edit_not_found,         "`old` does not occur `count` times: read the file again.")                                \
  X(append_offset_mismatch, "The file does not end at `offset`: continue at `size` in the problem.")                   \
  X(permission_denied,      "The agent's user does not have the permission.")                                          \
  X(in_use,                 "The path is a mount, or the kernel uses it: unmount it, or use another path.")             \
  X(no_space,               "The disk or a quota is full: delete something.")                                          \
  X(resource_exhausted,     "Descriptors, memory, processes or space in a queue are exhausted: try again later.")      \
  X(already_initialised,    "`/v1/init` works only once.")                                                             \
  X(sandbox_not_found,      "The launcher does not know a sandbox of this name: `skiff ps` lists all.")                \
  X(sandbox_conflict,       "A sandbox of this name exists: choose another name, or use `--get-or-create`.")           \
  X(sandbox_not_running,    "The sandbox was stopped, has ended or was killed: `skiff start` starts it again.")        \
  X(sandbox_failed,         "The sandbox could not be brought up: `field` is a word for the reason.")                  \
  X(quota_exceeded,         "The cluster's quota is used up: remove something, or repeat after `Retry-After`.")        \
  X(cluster_unavailable,    "The cluster does not do its part: the server's log says why. Repeat after `Retry-After`.") \
  X(sandbox_starting,       "The sandbox was stopped and is starting: repeat the request after `Retry-After`.")        \
  X(port_not_listening,     "No server listens there at 127.0.0.1 or ::1: `/v1/ports` lists the listening ports.")     \
  X(bad_gateway,            "The server behind it closed the connection, or does not speak HTTP: see `detail`.")       \
  X(too_many_sandboxes,     "The limit of the API key is reached: `Retry-After` says when to try again.")              \
  X(egress_waiting,         "The network is not closed yet, so no command may run: repeat after `Retry-After`.")       \
  X(draining,               "The agent is about to stop: use another sandbox.")                                        \
  X(timeout,                "The wait exceeded its time limit.")                                                       \
  X(cancelled,              "The client has disconnected.")                                                            \
  X(io_error,               "A system call failed for a reason without a code of its own: see `detail`.")              \
  X(internal,               "A bug: please report it with the log.")
// clang-format on

enum class Errc : unsigned char {
#define SKIFF_X(name, advice) name,
  SKIFF_ERROR_CODES(SKIFF_X)
#undef SKIFF_X
};

/// Returns the stable word of a code, as it goes on the wire.
[[nodiscard]] std::string_view name(Errc code) noexcept;

/// Returns the code of a word; nothing for a word that this version does not know.
[[nodiscard]] std::optional<Errc> find_code(std::string_view word) noexcept;

/// The number of codes; codes are numbered from 0.
[[nodiscard]] std::size_t error_code_count() noexcept;

/// An error. `message` is one sentence that says which attempt failed and on what; it is written where the reason is
/// known. `field` is a JSON pointer or parameter name when one input is to blame.
struct Error {
  Errc code = Errc::internal;
  std::string message;
  std::string field = {};
};

template <class T = void>
using Result = std::expected<T, Error>;

/// Shorthand for `return fail(Errc::x, "...")` in a function that returns `Result`.
[[nodiscard]] inline std::unexpected<Error> fail(Errc code, std::string message, std::string field = {}) {
  return std::unexpected<Error>{Error{code, std::move(message), std::move(field)}};
}

/// Returns `result`; sets the `field` of its error.
template <class T>
[[nodiscard]] Result<T> blaming(std::string field, Result<T> result) {
  if (!result) result.error().field = std::move(field);
  return result;
}

/// Statements that unwrap a `Result`, or leave the function with its error. `SKIFF_TRY(auto size, size_of(path));`
/// declares `size`; `SKIFF_TRY(known.size, size_of(path));` sets it; `SKIFF_TRY_VOID(sync(file));` discards the value.
/// A coroutine uses the two with SKIFF_CO_: `SKIFF_CO_TRY(auto text, co_await read(file));`.
#define SKIFF_TRY(target, ...) SKIFF_TRY_INTO(return, target, SKIFF_TRY_NAME(__LINE__), __VA_ARGS__)
#define SKIFF_CO_TRY(target, ...) SKIFF_TRY_INTO(co_return, target, SKIFF_TRY_NAME(__LINE__), __VA_ARGS__)
#define SKIFF_TRY_VOID(...)                                                  \
  if (auto skiff_tried = __VA_ARGS__; !skiff_tried) return std::unexpected { \
      std::move(skiff_tried.error())                                         \
    }
#define SKIFF_CO_TRY_VOID(...)                                                  \
  if (auto skiff_tried = __VA_ARGS__; !skiff_tried) co_return std::unexpected { \
      std::move(skiff_tried.error())                                            \
    }

#define SKIFF_TRY_INTO(leave, target, tried, ...)              \
  auto tried = __VA_ARGS__;                                    \
  if (!tried) leave std::unexpected{std::move(tried.error())}; \
  target = *std::move(tried)
#define SKIFF_TRY_NAME(line) SKIFF_TRY_PASTE(skiff_tried_, line)
#define SKIFF_TRY_PASTE(one, other) one##other

/// Returns an `Error` for a failed system call: "open "a/b": Permission denied". `error` is an errno value (errno(3)).
/// This is the only mapping from errno to codes.
[[nodiscard]] Error system_error(int error, std::string_view attempted);

/// Returns the text of an errno value. Thread-safe.
[[nodiscard]] std::string errno_text(int error);

/// Returns the symbolic name of an errno value ("ENOENT"), or its number.
[[nodiscard]] std::string errno_name(int error);

}  // namespace skiff
