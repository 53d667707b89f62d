#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/agent/client.hpp"

namespace skiff::container {

/// The agent's list of files as rows of a table, with the heading MODE, SIZE, MODIFIED, PATH.
struct FileEntries {
  std::vector<std::vector<std::string>> rows;
  std::string names;  ///< one path per line, printable
};

/// `items` are those of files:list. Fails as `AgentAnswer::check` does.
[[nodiscard]] Result<FileEntries> file_entries(const nlohmann::json& items);

/// The result of a search: its records, and the numbers from its last line.
struct FileRecords {
  nlohmann::json records;        ///< an array of objects
  bool is_truncated = false;     ///< there are more than the agent returns
  std::uint64_t searched = 0;    ///< files that were searched completely
  std::uint64_t unreadable = 0;  ///< files and directories that could not be read
  std::uint64_t too_large = 0;   ///< files that were searched only in part, or not at all
  std::uint64_t binary = 0;      ///< files that are not text
};

/// Reports on stderr what a search has left out. True if the result may be incomplete; files that are not text count
/// only if there were no others.
[[nodiscard]] bool tell_left_out(const FileRecords& found, bool is_quiet);

/// All results of files:glob or files:grep. `path` is that of the request, with its query.
[[nodiscard]] Task<Result<FileRecords>> find_records(AgentClient* agent, std::string path);

}  // namespace skiff::container
