#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "sessions/command.hpp"

namespace skiff::runtime::dialects::sandboxd {

/// Gives numbers to the commands that Start is streaming: 1, 2, 3 and so on, which are never pids of the system. The
/// agent owns the commands. Reactor thread only.
class ProcessTable {
 public:
  /// Holds a command's number as long as it lives.
  class Entry {
   public:
    Entry(ProcessTable& table, std::shared_ptr<sessions::Command> command) : table_{table}, id_{table.free_number()} {
      table_.commands_.emplace(id_, std::move(command));
    }
    ~Entry() { table_.commands_.erase(id_); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    [[nodiscard]] std::int32_t id() const noexcept { return id_; }

   private:
    ProcessTable& table_;
    std::int32_t id_;
  };

  /// Finds a command by its number. Errors: command_not_found.
  [[nodiscard]] Result<std::shared_ptr<sessions::Command>> find(std::int32_t id) const {
    const auto found = commands_.find(id);
    if (found != commands_.end()) return found->second;
    return fail(Errc::command_not_found, "process " + std::to_string(id) + " not found");
  }

 private:
  /// The next free number. 1 follows the largest number.
  [[nodiscard]] std::int32_t free_number() {
    do {
      last_ = last_ == INT32_MAX ? 1 : last_ + 1;
    } while (commands_.contains(last_));
    return last_;
  }

  std::map<std::int32_t, std::shared_ptr<sessions::Command>> commands_;
  std::int32_t last_ = 0;
};

}  // namespace skiff::runtime::dialects::sandboxd
