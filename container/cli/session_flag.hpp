#pragma once

#include <string>

#include "base/settings.hpp"
#include "container/agent/session_files.hpp"

namespace skiff::container {

/// `-s, --session` of the commands that work on files: paths are relative to the directory of that session, and lead to
/// its roots alone. It outlives its row.
class SessionFlag {
 public:
  [[nodiscard]] Setting row() {
    return {.flag = "session",
            .target = setting::Text{&session_},
            .value = "SESSION",
            .help = "Session whose files are meant; paths start at its directory.",
            .letter = 's'};
  }
  [[nodiscard]] const std::string& session() const noexcept { return session_; }
  /// Where the agent has its files.
  [[nodiscard]] std::string files() const { return files_of(session_); }

 private:
  std::string session_{kDefaultSession};
};

}  // namespace skiff::container
