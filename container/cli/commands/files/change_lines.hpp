#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/changes/change.hpp"
#include "container/changes/workspace.hpp"
#include "container/cli/context.hpp"

namespace skiff::container {

/// "M  src/a.c" and what else is to be known, without a newline. The text is not printable yet.
[[nodiscard]] std::string change_line(const changes::Change& change);
/// The path and the facts of a change.
[[nodiscard]] nlohmann::json change_json(const changes::Change& change);
/// Adds `path`, or for a path that is not UTF-8 also `path_base64`, as the agent's API does.
void put_bytes(nlohmann::json& object, const std::string& key, const std::string& bytes);

[[nodiscard]] nlohmann::json left_out_json(const std::vector<changes::LeftOut>& left_out);
/// Reports on stderr what was left out; returns the exit status: 0, or 1 if there is something.
[[nodiscard]] int tell_left_out(const std::vector<changes::LeftOut>& left_out);

/// Paths that the user names, relative to the mounted directory.
[[nodiscard]] Result<std::vector<std::string>> relative_paths(const MountedLayer& mount,
                                                              const std::vector<std::string>& words);

/// Runs work on files on a thread of its own. A signal asks it to stop.
[[nodiscard]] Task<Result<>> run_on_files(Context* context, std::function<Result<>(const std::stop_token&)> work);

}  // namespace skiff::container
