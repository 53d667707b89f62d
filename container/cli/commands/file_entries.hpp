#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/agent/client.hpp"

namespace skiff::container {

/// What an agent says of files, as rows of a table: MODE, SIZE, MODIFIED, PATH, with that heading.
struct FileEntries {
  std::vector<std::vector<std::string>> rows;
  std::string names;  ///< a path a line, printable
};

/// `items` as files:list gives them. Errors: as `AgentAnswer::check`.
[[nodiscard]] Result<FileEntries> file_entries(const nlohmann::json& items);

/// The records of a search, a line each, but for the last one.
struct FileRecords {
  nlohmann::json records;        ///< an array of objects
  bool is_truncated = false;     ///< there are more than the agent gives
  std::uint64_t searched = 0;    ///< files, to their end
  std::uint64_t unreadable = 0;  ///< files and directories
  std::uint64_t too_large = 0;   ///< files that were searched only up to there, or not at all
  std::uint64_t binary = 0;      ///< files that are not text
};

/// Says on stderr what a search has left out. True if its result may miss something that was asked for: not for what is
/// no text, as long as there were other files.
[[nodiscard]] bool tell_left_out(const FileRecords& found, bool is_quiet);

/// All that files:glob or files:grep finds: `path` is that of the request, with its query.
[[nodiscard]] Task<Result<FileRecords>> find_records(AgentClient* agent, std::string path);

}  // namespace skiff::container
