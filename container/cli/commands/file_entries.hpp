#pragma once

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
  nlohmann::json records;     ///< an array of objects
  bool is_truncated = false;  ///< there are more than the agent gives
};

/// All that files:glob or files:grep finds: `path` is that of the request, with its query.
[[nodiscard]] Task<Result<FileRecords>> find_records(AgentClient* agent, std::string path);

}  // namespace skiff::container
