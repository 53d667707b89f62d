#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "protocol/http/message.hpp"
#include "protocol/service/router.hpp"
#include "runtime/agent.hpp"
#include "runtime/api/kept_output.hpp"

/// Functions that the dialects share whose original servers are built with FastAPI (Python).
namespace skiff::runtime::dialects {

[[nodiscard]] protocol::HttpResponse json_answer(unsigned status, std::string text);
/// A response with FastAPI's error body, `{"detail": text}`.
[[nodiscard]] protocol::HttpResponse detail(unsigned status, std::string_view text);
/// A response with FastAPI's error body for `error`. Where no route matches, the text is "Not Found" or "Method Not
/// Allowed".
[[nodiscard]] protocol::HttpResponse detail(unsigned status, const Error& error);

/// FastAPI redirects to the path with or without its last slash. These options answer such a path directly, because the
/// originals' clients do not follow redirects.
inline constexpr protocol::service::RouterOptions kPathsOfFastapi{.slash_at_end = true, .rest_may_be_absent = true};

/// Whether this code says that a path has not got a usable file: nothing is there, or something of another kind.
[[nodiscard]] bool is_absence(Errc code) noexcept;

/// Runs `work`, which goes through `bytes` bytes of JSON: on the reactor's thread up to 256 KiB, above that on a thread
/// for long work.
[[nodiscard]] Task<> by_size(BlockingPool* long_work, std::size_t bytes, std::function<void()> work);

using Compose = std::function<std::string(const api::KeptOutput&)>;
/// Composes an answer from the output of a command, at most `most` bytes of each stream. `compose` may run on another
/// thread. Large answers take turns.
[[nodiscard]] Task<std::string> compose_result(Agent* agent, std::shared_ptr<sessions::Command> command,
                                               std::size_t most, Compose compose);

}  // namespace skiff::runtime::dialects
