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

/// What the originals that are made with FastAPI, in Python, have in common.
namespace skiff::runtime::dialects {

[[nodiscard]] protocol::HttpResponse json_answer(unsigned status, std::string text);
/// `{"detail": text}`: how FastAPI speaks of what reaches none of its routes.
[[nodiscard]] protocol::HttpResponse detail(unsigned status, std::string_view text);
/// An error in this form, "Not Found" and "Method Not Allowed" where there is no route.
[[nodiscard]] protocol::HttpResponse detail(unsigned status, const Error& error);

/// FastAPI redirects to the path with or without its last slash. Here the answer comes at once: no client of the
/// originals follows.
inline constexpr protocol::service::RouterOptions kPathsOfFastapi{.slash_at_end = true, .rest_may_be_absent = true};

/// Whether nothing usable is at a path, whatever there is instead.
[[nodiscard]] bool is_absence(Errc code) noexcept;

/// Does work that goes through so many bytes of JSON: in a turn of the reactor where they are few, else on a thread for
/// long work.
[[nodiscard]] Task<> by_size(Agent* agent, std::size_t bytes, std::function<void()> work);

using Compose = std::function<std::string(const api::KeptOutput&)>;
/// What `compose` makes of what a command has said, at most `most` bytes of each stream. It may run on another thread;
/// large ones take turns.
[[nodiscard]] Task<std::string> compose_result(Agent* agent, std::shared_ptr<sessions::Command> command,
                                               std::size_t most, Compose compose);

}  // namespace skiff::runtime::dialects
