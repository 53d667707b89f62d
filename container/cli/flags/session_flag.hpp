#pragma once

#include <string>

#include "base/settings/settings.hpp"
#include "container/agent/copy/session_files.hpp"

namespace skiff::container {

/// `-s, --session` of the commands that work on files: paths are relative to that session's directory and reach only
/// its roots. It must outlive its row.
class SessionFlag {
 public:
  [[nodiscard]] Setting row() {
    return {.flag = "session",
            .target = setting::Text{&session_},
            .value = "SESSION",
            .help = "Session whose files to use; paths are relative to its directory.",
            .letter = 's'};
  }
  [[nodiscard]] const std::string& session() const noexcept { return session_; }
  /// The agent's path for the session's files.
  [[nodiscard]] std::string files() const { return files_of(session_); }

 private:
  std::string session_{kDefaultSession};
};

}  // namespace skiff::container
