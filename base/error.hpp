#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace skiff {

/// Every code an error can carry. The word is stable: it is the `code` of a problem document (RFC 9457) and clients
/// branch on it. Codes are only ever added. The status of each stands in `protocol/problem.cpp`.
// clang-format off
#define SKIFF_ERROR_CODES(X)                                                                                          \
  X(invalid_request)        /* the request as a whole makes no sense */                                               \
  X(invalid_field)          /* a field has the wrong type, form or range */                                           \
  X(unknown_field)          /* a field that this version does not know */                                             \
  X(missing_field)          /* a required field is absent */                                                          \
  X(malformed_json)         /* the body is not JSON */                                                                \
  X(invalid_id)             /* an id that does not match [A-Za-z0-9][A-Za-z0-9._-]{0,63} */                           \
  X(unauthenticated)        /* no credential, or one that is not valid */                                             \
  X(insufficient_scope)     /* the credential does not allow this */                                                  \
  X(origin_not_allowed)     /* a browser's Origin that is not on the list */                                          \
  X(host_not_allowed)       /* a Host that is not on the list (DNS rebinding) */                                      \
  X(not_found)              /* no such route */                                                                       \
  X(method_not_allowed)     /* the path exists, the method does not */                                                \
  X(session_not_found)                                                                                                \
  X(session_conflict)       /* the session exists and was created with another request */                             \
  X(session_is_stateful)    /* what was to be changed belongs to the session's shell */                               \
  X(session_protected)      /* the default session can't be deleted */                                                \
  X(too_many_sessions)                                                                                                \
  X(command_not_found)                                                                                                \
  X(command_conflict)       /* the id was used with other content */                                                  \
  X(command_forgotten)      /* the id was used, its command is no longer kept */                                      \
  X(command_ended)          /* the command is over */                                                                 \
  X(instance_changed)       /* the agent was restarted since `if_instance` */                                         \
  X(too_many_commands)                                                                                                \
  X(cannot_switch_user)                                                                                               \
  X(user_not_found)                                                                                                   \
  X(limit_unavailable)      /* a limit that this kernel or container can't enforce */                                 \
  X(isolation_unavailable)                                                                                            \
  X(not_supported)          /* known, but not offered by this build */                                                \
  X(stdin_closed)                                                                                                     \
  X(stdin_offset_mismatch)                                                                                            \
  X(not_a_terminal)                                                                                                   \
  X(unsupported_media_type)                                                                                           \
  X(not_acceptable)                                                                                                   \
  X(payload_too_large)                                                                                                \
  X(malformed_archive)      /* bytes that are no tar archive, or one that is cut or contradicts itself */            \
  X(headers_too_large)                                                                                                \
  X(target_too_long)                                                                                                  \
  X(length_required)                                                                                                  \
  X(request_timeout)                                                                                                  \
  X(expectation_failed)                                                                                               \
  X(upgrade_required)       /* a WebSocket route reached without an upgrade */                                        \
  X(too_many_connections)                                                                                             \
  X(range_not_satisfiable)  /* a Range that begins behind the end of the file */                                      \
  X(precondition_failed)                                                                                              \
  X(path_escapes_root)      /* a path that leaves the session's roots */                                              \
  X(path_not_found)                                                                                                   \
  X(not_a_regular_file)     /* a folder is is_a_directory; a FIFO, socket, device or link is this */                  \
  X(is_a_directory)                                                                                                   \
  X(not_a_directory)                                                                                                  \
  X(directory_not_empty)                                                                                              \
  X(already_exists)                                                                                                   \
  X(name_too_long)          /* a name over 255 bytes, or a path over 4095 */                                          \
  X(too_many_links)         /* a chain of links that is too long, or a loop */                                        \
  X(checksum_mismatch)      /* the bytes are not those of the expected SHA-256 */                                     \
  X(edit_not_found)         /* the text to replace does not occur that often */                                       \
  X(append_offset_mismatch) /* the file does not end at that offset */                                                \
  X(permission_denied)                                                                                                \
  X(no_space)                                                                                                         \
  X(resource_exhausted)     /* the machine has no more descriptors, memory or processes */                            \
  X(already_initialised)    /* /v1/init was called before */                                                          \
  X(sandbox_not_found)                                                                                                \
  X(sandbox_conflict)       /* there is a sandbox of that name already */                                             \
  X(sandbox_not_running)    /* it was stopped, has ended, or was killed */                                            \
  X(sandbox_failed)         /* it could not be brought up; `field` is the reason's word */                            \
  X(draining)               /* the agent is about to stop */                                                          \
  X(timeout)                /* a wait that ran into its own end */                                                    \
  X(cancelled)              /* the one who asked is gone */                                                           \
  X(io_error)               /* a system call failed in a way that has no better word */                               \
  X(internal)               /* a bug: please report it */
// clang-format on

enum class Errc : unsigned char {
#define SKIFF_X(name) name,
  SKIFF_ERROR_CODES(SKIFF_X)
#undef SKIFF_X
};

/// The stable word of a code, as it goes on the wire.
[[nodiscard]] std::string_view name(Errc code) noexcept;

/// The code that a word stands for; nothing for a word that this version does not know.
[[nodiscard]] std::optional<Errc> find_code(std::string_view word) noexcept;

/// How many codes there are; codes are numbered from 0.
[[nodiscard]] std::size_t error_code_count() noexcept;

/// What went wrong, in one sentence that says what was attempted on what, made where the reason is known. `field` is a
/// JSON pointer or parameter name when one input is to blame.
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

/// An `Error` for a failed system call: "open "a/b": Permission denied". `error` is an errno value (errno(3)); the one
/// mapping from errno to codes is here.
[[nodiscard]] Error system_error(int error, std::string_view attempted);

/// The text of an errno value, thread-safe.
[[nodiscard]] std::string errno_text(int error);

/// The symbolic name of an errno value ("ENOENT"), or its number.
[[nodiscard]] std::string errno_name(int error);

}  // namespace skiff
