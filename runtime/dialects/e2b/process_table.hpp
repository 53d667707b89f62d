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

/// Finds processes as clients name them: by the pid of their first process, or by a tag. The commands are those of a
/// session, the agent keeps them. Reactor thread only.
class ProcessTable {
 public:
  void tag(std::string text, const std::shared_ptr<sessions::Command>& command) {
    std::erase_if(tags_, [](const auto& one) { return one.second.expired(); });
    tags_.emplace_back(std::move(text), command);
  }

  /// Of a pid that was used again the newest command, of a tag the newest that something is left of, else the newest.
  /// Also one that has ended, as long as it is kept. Errors: command_not_found.
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

  /// The same of those that something is left of. Errors: also command_ended.
  [[nodiscard]] Result<std::shared_ptr<sessions::Command>> find_live(const sessions::Session& session,
                                                                     const ProcessSelector& process) const {
    auto command = find(session, process);
    if (command && (*command)->over()) return fail(Errc::command_ended, "the process has ended");
    return command;
  }

  /// Empty: none.
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
