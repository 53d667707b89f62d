#include "container/cli/commands/files/file_entries.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "container/agent/answer.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/printable.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

constexpr std::size_t kMostRecordBytes = std::size_t{64} << 20U;

}  // namespace

Result<FileEntries> file_entries(const json& items) {
  FileEntries entries{.rows = {{"MODE", "SIZE", "MODIFIED", "PATH"}}, .names = {}};
  for (const json& item : items) {
    AgentAnswer entry{item, "a file"};
    std::string path = entry.bytes("path");
    const std::string name = printable(path) + "\n";
    if (entry.text("type") == "directory") path += '/';
    if (const std::string target = entry.bytes("target"); !target.empty()) path += " -> " + target;
    entries.rows.push_back({entry.text("mode"), format_size(entry.number("size").value_or(0)),
                            entry.text("modified_at"), std::move(path)});
    SKIFF_TRY_VOID(entry.check());
    entries.names += name;
  }
  return entries;
}

bool tell_left_out(const FileRecords& found, bool is_quiet) {
  const auto tell = [](std::uint64_t number, const char* what) {
    if (number > 0) say(std::to_string(number) + " " + what);
    return number > 0;
  };
  bool is_incomplete = tell(found.unreadable, "files or directories could not be read and were left out");
  is_incomplete |= tell(found.too_large, "files are too large to be searched and were left out");
  if (found.is_truncated) say("there are more matches than these");
  const bool is_all_binary = found.binary > 0 && found.searched == 0;
  if (is_all_binary || !is_quiet) tell(found.binary, "files are not text and were left out");
  return is_incomplete || found.is_truncated || is_all_binary;
}

Task<Result<FileRecords>> find_records(AgentClient* agent, std::string path) {
  SKIFF_CO_TRY_VOID(co_await agent->open(std::move(path)));
  SKIFF_CO_TRY(auto body, co_await agent->http().read_body(kMostRecordBytes));
  FileRecords found{.records = json::array()};
  for (std::string_view rest = body; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    auto record = protocol::parse_json(line, {.max_bytes = kMostRecordBytes});
    if (!record) co_return std::unexpected{foreign_answer(record.error().message)};
    AgentAnswer said{*record, "a line of its answer"};
    const bool is_last = said.text("type") == "summary";
    if (is_last) {
      found.is_truncated = said.flag("truncated");
      found.searched = said.number("searched").value_or(0);
      found.unreadable = said.number("unreadable").value_or(0);
      found.too_large = said.number("too_large").value_or(0);
      found.binary = said.number("binary").value_or(0);
    }
    SKIFF_CO_TRY_VOID(said.check());
    if (is_last) co_return found;
    found.records.push_back(std::move(*record));
  }
  co_return std::unexpected{foreign_answer("its search has no end")};
}

}  // namespace skiff::container
