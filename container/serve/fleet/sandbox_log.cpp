#include "container/serve/fleet/sandbox_log.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/agent/timed_output.hpp"
#include "container/net/time.hpp"
#include "protocol/http/target.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::container::serve {
namespace {

/// 64 KiB of single bytes, each an event of its own, are some 9 MB of JSON.
constexpr std::size_t kLongestToldOutput = std::size_t{16} << 20U;
/// Longest message, for one line of a log viewer; longer ones are cut.
constexpr std::size_t kLongestMessage = 8192;

std::optional<std::int64_t> milliseconds_of(const std::string& time) {
  const auto parsed = net::parse_time(time);
  if (!parsed) return std::nullopt;
  return std::chrono::floor<std::chrono::milliseconds>(*parsed).time_since_epoch().count();
}

std::string cut_message(std::string_view text) {
  std::string message = protocol::to_valid_utf8(text.substr(0, kLongestMessage));
  if (text.size() > kLongestMessage) message += "...";
  return message;
}

/// One command's part of the log, in order of time. It keeps at most as many entries as the whole log may have; other
/// entries are dropped at once.
class CommandLog {
 public:
  CommandLog(const nlohmann::json& said, const LogQuery& query)
      : said_{&said}, query_{&query}, id_{text_at(said, "id")}, session_{text_at(said, "session")} {}

  [[nodiscard]] std::string path() const { return command_path(session_, id_); }

  void begin() {
    std::string line = text_at(*said_, "command");
    if (const auto argv = said_->find("argv"); argv != said_->end() && argv->is_array()) {
      for (const auto& word : *argv) {
        if (word.is_string()) line += (line.empty() ? "" : " ") + word.get<std::string>();
      }
    }
    add(milliseconds_of(text_at(*said_, "started_at")), LogLevel::info, "started: " + line);
  }

  void print(const std::vector<TimedOutput>& output) {
    std::size_t more = 0;  // an agent may send more than it was asked for
    for (const TimedOutput& one : output) more += one.bytes.size();
    more -= std::min<std::size_t>(more, kLoggedOutput);
    for (const TimedOutput& one : output) {
      std::string_view rest{one.bytes};
      const std::size_t left_out = std::min(more, rest.size());
      rest.remove_prefix(left_out);
      more -= left_out;
      print(one.stream, milliseconds_of(one.time), rest);
    }
    for (auto& [stream, line] : lines_) {
      if (!line.text.empty()) add(line.time, level_of(stream), line.text, stream);
    }
  }

  void end() {
    if (text_at(*said_, "state") != "ended") return;
    const auto code = number_at(*said_, "exit_code");
    const std::string signal = text_at(*said_, "signal");
    const std::string cause = text_at(*said_, "cause");
    std::string how = code ? "exit code " + std::to_string(*code) : signal.empty() ? cause : signal;
    if (cause != "exited" && cause != "signaled" && cause != how) how += " (" + cause + ")";
    const LogLevel level = code == std::uint64_t{0} ? LogLevel::info : LogLevel::error;
    add(milliseconds_of(text_at(*said_, "ended_at")), level, "ended: " + how);
  }

  /// Returns all entries. Call it once.
  [[nodiscard]] std::deque<LogEntry> take() {
    for (LogEntry& one : entries_) {
      one.fields.emplace("command", id_);
      one.fields.emplace("session", session_);
    }
    return std::move(entries_);
  }

 private:
  struct Line {
    std::string text;
    std::optional<std::int64_t> time;
  };

  static LogLevel level_of(std::string_view stream) { return stream == "stderr" ? LogLevel::warn : LogLevel::info; }

  void print(const std::string& stream, std::optional<std::int64_t> time, std::string_view rest) {
    Line& begun = lines_[stream];
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      if (begun.text.empty()) begun.time = time;
      if (end == std::string_view::npos) {
        begun.text += rest;
        return;
      }
      if (begun.text.empty()) {
        add(time, level_of(stream), rest.substr(0, end), stream);
      } else {
        begun.text += rest.substr(0, end);
        add(begun.time, level_of(stream), begun.text, stream);
        begun.text.clear();
      }
      rest.remove_prefix(end + 1);
    }
  }

  void add(std::optional<std::int64_t> time, LogLevel level, std::string_view message, std::string_view stream = {}) {
    if (!time || level < query_->least || query_->limit == 0) return;
    if (query_->from && (query_->backward ? *time > *query_->from : *time < *query_->from)) return;
    const bool is_full = entries_.size() >= query_->limit;
    if (is_full && !query_->backward) return;
    if (!stream.empty() && message.ends_with('\r')) message.remove_suffix(1);
    if (!message.contains(query_->search)) return;
    if (is_full) entries_.pop_front();
    LogEntry& entry = entries_.emplace_back(*time, level, cut_message(message));
    if (!stream.empty()) entry.fields.emplace("stream", stream);
  }

  const nlohmann::json* said_;
  const LogQuery* query_;
  std::string id_;
  std::string session_;
  std::map<std::string, Line> lines_;  ///< unfinished lines, by stream
  std::deque<LogEntry> entries_;
};

/// The fields of a command for the log, shortened: its arguments may have a megabyte.
nlohmann::json told_of(const nlohmann::json& command) {
  nlohmann::json told;
  for (const char* name :
       {"id", "session", "started_at", "ended_at", "state", "exit_code", "signal", "cause", "output"}) {
    if (const auto found = command.find(name); found != command.end()) told[name] = *found;
  }
  std::size_t left = kLongestMessage;
  told["command"] = text_at(command, "command").substr(0, left + 1);
  nlohmann::json words = nlohmann::json::array();
  if (const auto argv = command.find("argv"); argv != command.end() && argv->is_array()) {
    for (const auto& word : *argv) {
      if (left == 0 || !word.is_string()) break;
      words.push_back(word.get_ref<const std::string&>().substr(0, left + 1));
      left -= std::min(left, word.get_ref<const std::string&>().size() + 1);
    }
  }
  told["argv"] = std::move(words);
  return told;
}

/// The newest commands of all sessions, oldest first.
Task<Result<std::vector<nlohmann::json>>> newest_commands(AgentClient* agent) {
  std::vector<std::string> sessions;
  auto note = [&sessions](const nlohmann::json& session) { sessions.push_back(text_at(session, "id")); };
  SKIFF_CO_TRY_VOID(co_await agent->each_item("/v1/sessions?limit=1000", std::move(note)));
  std::multimap<std::string, nlohmann::json> commands;
  for (const std::string& session : sessions) {
    const std::string path = "/v1/sessions/" + protocol::percent_encode(session) + "/commands?limit=1000";
    auto keep = [&commands](const nlohmann::json& one) {
      commands.emplace(text_at(one, "started_at"), told_of(one));
      if (commands.size() > kLoggedCommands) commands.erase(commands.begin());
    };
    auto some = co_await agent->each_item(path, std::move(keep));
    if (!some && some.error().code != Errc::session_not_found) co_return std::unexpected{std::move(some.error())};
  }
  std::vector<nlohmann::json> newest;
  for (auto& [time, command] : commands) newest.push_back(std::move(command));
  co_return newest;
}

}  // namespace

std::string_view log_level_word(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warn:
      return "warn";
    case LogLevel::error:
      return "error";
  }
  std::unreachable();
}

Task<Result<std::vector<LogEntry>>> read_sandbox_log(AgentClient* agent, LogQuery query) {
  SKIFF_CO_TRY(auto commands, co_await newest_commands(agent));
  // Merge by time, because commands may have run at the same time.
  std::multimap<std::int64_t, LogEntry> found;
  for (const auto& command : commands) {
    CommandLog log{command, query};
    log.begin();
    const std::uint64_t end = number_at(object_at(command, "output"), "next_offset").value_or(0);
    auto output = co_await read_timed_output(agent, log.path(), end - std::min(end, kLoggedOutput), kLongestToldOutput);
    if (!output && output.error().code != Errc::command_not_found) co_return std::unexpected{std::move(output.error())};
    if (output) log.print(*output);
    log.end();
    for (LogEntry& entry : log.take()) {
      const std::int64_t time = entry.time;
      found.emplace(time, std::move(entry));
    }
    while (found.size() > query.limit) found.erase(query.backward ? found.begin() : std::prev(found.end()));
  }
  std::vector<LogEntry> entries;
  for (auto& [time, entry] : found) entries.push_back(std::move(entry));
  if (query.backward) std::ranges::reverse(entries);
  co_return entries;
}

}  // namespace skiff::container::serve
