#pragma once

#include <string>
#include <string_view>

#include "protocol/http/target.hpp"

namespace skiff::container {

/// The session that is used where none is named.
inline constexpr std::string_view kDefaultSession = "default";

/// The agent's path for the files of a session; file paths are relative to that session's directory.
[[nodiscard]] inline std::string files_of(std::string_view session) {
  return session == kDefaultSession ? "/v1/files" : "/v1/sessions/" + protocol::percent_encode(session) + "/files";
}

}  // namespace skiff::container
