#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "runtime/dialects/e2b/messages.hpp"
#include "sessions/session.hpp"

namespace skiff::runtime::dialects::e2b {

/// Finds the commands of a session by their names for clients: the pid of the first process, or a tag. The agent owns
/// the commands. Reactor thread only.
class ProcessTable {
 public:
  void tag(std::string text, const std::shared_ptr<sessions::Command>& command) {
    std::erase_if(tags_, [](const auto& one) { return one.second.expired(); });
    tags_.emplace_back(std::move(text), command);
  }

  /// Finds a process, also one that has ended, as long as it is kept. If a pid was used again, it is the newest
  /// command's. A tag is that of the newest command of which something is left, else of the newest. Errors:
  /// command_not_found.
  [[nodiscard]] Result<std::shared_ptr<sessions::Command>> find(const sessions::Session& session,
                                                                const ProcessSelector& process) const {
    std::shared_ptr<sessions::Command> found;
    if (!process.pid) {
      for (const auto& [tag, tagged] : tags_) {
        auto command = tag == process.tag ? tagged.lock() : nullptr;
        if (command && (!found || found->over() || !command->over())) found = std::move(command);
      }
      if (!found) return fail(Errc::command_not_found, "there is not a process with this tag");
      return found;
    }
    for (auto& command : session.commands()) {
      if (*process.pid != 0 && std::cmp_equal(command->pid(), *process.pid)) found = std::move(command);
    }
    if (!found) return fail(Errc::command_not_found, "process with pid " + std::to_string(*process.pid) + " not found");
    return found;
  }

  /// Finds a process of which something is left. Errors: also command_ended.
  [[nodiscard]] Result<std::shared_ptr<sessions::Command>> find_live(const sessions::Session& session,
                                                                     const ProcessSelector& process) const {
    auto command = find(session, process);
    if (command && (*command)->over()) return fail(Errc::command_ended, "the process has ended");
    return command;
  }

  /// The tag of a command; empty: it has none.
  [[nodiscard]] std::string_view tag_of(const sessions::Command& command) const {
    for (const auto& [text, tagged] : tags_) {
      if (tagged.lock().get() == &command) return text;
    }
    return {};
  }

 private:
  std::vector<std::pair<std::string, std::weak_ptr<sessions::Command>>> tags_;  ///< oldest first
};

}  // namespace skiff::runtime::dialects::e2b
