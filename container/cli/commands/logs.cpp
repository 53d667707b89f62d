#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/small_file.hpp"
#include "container/agent/answer.hpp"
#include "container/agent/timed_output.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/command_flags.hpp"
#include "container/cli/output/attached.hpp"
#include "container/cli/output/output.hpp"
#include "container/cluster/pod/circumstances.hpp"

namespace skiff::container {
namespace {

using std::chrono::milliseconds;

/// Largest log that is read as a whole; `skiff logs --from` prints larger ones.
constexpr std::size_t kLongestLog = std::size_t{256} << 20U;

class Logs final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    using namespace std::chrono_literals;
    return {{.flag = "follow",
             .target = setting::Switch{&follow_},
             .help = "Continue until the command has ended.",
             .letter = 'f'},
            {.flag = "tail",
             .target = setting::Count{&tail_, 0, 1'000'000'000},
             .value = "N",
             .help = "Begin with the last N lines.",
             .shown_default = "all"},
            {.flag = "since",
             .target = setting::Duration{&since_, 0ms, std::chrono::days{365}},
             .value = "TIME",
             .help = "Leave out output that is older than this time, for example 10m.",
             .shown_default = "all"},
            {.flag = "timestamps",
             .target = setting::Switch{&timestamps_},
             .help = "Print the time of each line before it."},
            {.flag = "agent",
             .target = setting::Switch{&agent_},
             .help = "Print the log of the container: the output of skiffd, and of a workload that runs with it."},
            {.flag = "previous",
             .target = setting::Switch{&previous_},
             .help = "With --agent: the log from before the container's last restart.",
             .letter = 'p'},
            {.flag = "from",
             .target = setting::Size{&from_},
             .value = "OFFSET",
             .help = "Begin at this byte of the output; both streams count together."},
            session_row(&session_)};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    if (std::ranges::count(arguments.given, "--tail") > 0) lines_ = tail_;
    const std::string& space = context.options().access.namespace_name;
    const bool is_number = !space.empty() && space.find_first_not_of("0123456789") == std::string::npos;
    if (is_number && std::ranges::count(arguments.given, "--namespace") > 0) {
      co_return fail(Errc::invalid_field, "-n is the namespace: for the last lines use --tail " + space, "--namespace");
    }
    const bool has_time = since_.count() > 0 || timestamps_;
    if (agent_) co_return co_await show_agent_log(&context, std::move(arguments));
    if (previous_) co_return fail(Errc::invalid_field, "-p needs --agent: a command runs only once");
    if (from_ > 0 && (lines_ || has_time)) {
      co_return fail(Errc::invalid_field, "--from counts bytes: omit --tail, --since and --timestamps");
    }
    SKIFF_CO_TRY(auto endpoint, co_await context.endpoint(arguments.words.at(0)));
    AgentClient agent{context.executor(), endpoint};
    std::string id;
    if (arguments.words.size() > 1) {
      id = arguments.words.at(1);
    } else {
      SKIFF_CO_TRY(id, co_await unnamed_command(&agent, session_));
    }
    if (follow_ && timestamps_) {
      co_return fail(Errc::invalid_field, "-f prints bytes unchanged: omit --timestamps");
    }
    if (has_time && !follow_) co_return co_await show_lines(&agent, std::move(id));
    AttachedOptions options{.signals = false};
    SKIFF_CO_TRY(auto shown, co_await agent.get(command_path(session_, id)));
    AgentAnswer said{shown, "a command"};
    const std::uint64_t end = said.number("output/next_offset").value_or(0);
    SKIFF_CO_TRY_VOID(said.check());
    if (lines_) {
      SKIFF_CO_TRY(from_, co_await offset_of_last_lines(&agent, id, end, *lines_));
    }
    if (since_.count() > 0) {
      SKIFF_CO_TRY(auto begin, co_await offset_of_time(&agent, id, end));
      from_ = std::max(from_, begin);
    }
    if (!follow_) {
      options.until = end;
      if (end <= from_) co_return 0;
    }
    CommandStream command{context.executor(), endpoint, session_, id};
    // A reader of the log must not block the command.
    command.attach({.from = from_, .lossless = false});
    SKIFF_CO_TRY(const auto shown_all, co_await stay_attached(&context, &command, std::move(options)));
    co_return shown_all.is_incomplete ? 1 : 0;
  }

 private:
  Task<Result<int>> show_agent_log(Context* context, SettingsTable::Arguments arguments) {
    if (follow_) co_return fail(Errc::invalid_field, "--agent prints the log so far: omit -f");
    if (arguments.words.size() > 1)
      co_return fail(Errc::invalid_field, "--agent is not the log of a command: omit COMMAND");
    SKIFF_CO_TRY(auto driver, co_await context->driver());
    auto sandbox = co_await driver->get(arguments.words.at(0));
    if (!sandbox) co_return std::unexpected{std::move(sandbox.error())};
    const auto detail = [&sandbox](const char* key) {
      const auto found = sandbox->details.find(key);
      return found == sandbox->details.end() ? std::string{} : found->second;
    };
    SKIFF_CO_TRY(const auto host_log, co_await driver->agent_log(sandbox->name));
    if (host_log) co_return show_text(*host_log);
    if (is_of_this_machine(sandbox->driver)) co_return show_file(detail("log"));
    if (detail("pod").empty()) {
      co_return fail(Errc::not_supported,
                     "sandbox \"" + sandbox->name +
                         "\" has no log that skiff can reach: the program that started its skiffd has it");
    }
    SKIFF_CO_TRY(auto cluster, context->cluster());
    AgentLogOptions options{.tail = lines_, .timestamps = timestamps_, .previous = previous_};
    if (since_.count() > 0) {
      options.since_seconds = static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(since_).count());
    }
    SKIFF_CO_TRY(auto log, co_await agent_log(&cluster->client(), detail("namespace"), detail("pod"), options));
    SKIFF_CO_TRY_VOID(print(log));
    co_return 0;
  }

  [[nodiscard]] Result<int> show_file(const std::string& path) const {
    SKIFF_TRY(auto text, read_small_file(path, kLongestLog));
    return show_text(text);
  }

  /// Prints the text of a log, whose lines have their times already.
  [[nodiscard]] Result<int> show_text(std::string_view shown) const {
    if (previous_ || since_.count() > 0 || timestamps_) {
      return fail(Errc::invalid_field, "with this driver the log is a plain file: omit -p, --since and --timestamps");
    }
    if (lines_) shown.remove_prefix(begin_of_last_lines(shown, *lines_).value_or(0));
    SKIFF_TRY_VOID(print(shown));
    return 0;
  }

  /// The offset of a byte, given by its index in all texts together: there may be gaps between them.
  static std::optional<std::uint64_t> offset_at(const std::vector<TimedOutput>& events, std::size_t index) {
    for (const TimedOutput& one : events) {
      if (index < one.bytes.size()) return one.offset + index;
      index -= one.bytes.size();
    }
    return std::nullopt;
  }

  /// The index at which the last `lines` lines of a text begin; nullopt if it has fewer.
  static std::optional<std::size_t> begin_of_last_lines(std::string_view text, std::uint64_t lines) {
    if (lines == 0) return text.size();
    std::string_view rest = text;
    if (rest.ends_with('\n')) rest.remove_suffix(1);
    for (;;) {
      const std::size_t newline = rest.rfind('\n');
      if (newline == std::string_view::npos) return std::nullopt;
      if (--lines == 0) return newline + 1;
      rest = rest.substr(0, newline);
    }
  }

  /// Reads backwards, a larger piece each time.
  Task<Result<std::uint64_t>> offset_of_last_lines(AgentClient* agent, std::string id, std::uint64_t end,
                                                   std::uint64_t lines) const {
    for (std::uint64_t piece = std::uint64_t{64} << 10U;; piece *= 8) {
      const std::uint64_t begin = end > piece ? end - piece : 0;
      SKIFF_CO_TRY(auto events, co_await read_timed_output(agent, command_path(session_, id), begin, kLongestLog));
      const std::uint64_t first = events.empty() ? end : events.front().offset;
      std::string text;
      for (const TimedOutput& one : events) text += one.bytes;
      if (const auto at = begin_of_last_lines(text, lines)) co_return offset_at(events, *at).value_or(end);
      // Lines that the agent has dropped cannot be counted; reading from the beginning reports the gap.
      if (begin == 0 || first > begin) co_return 0;
    }
  }

  /// The time at which --since begins, in milliseconds since 1970.
  [[nodiscard]] long long oldest_ms() const {
    if (since_.count() == 0) return std::numeric_limits<long long>::min();
    return std::chrono::floor<milliseconds>(wall_now()).time_since_epoch().count() - since_.count();
  }

  /// The offset of the first output since that time; `end` if all of it is older.
  Task<Result<std::uint64_t>> offset_of_time(AgentClient* agent, std::string id, std::uint64_t end) const {
    SKIFF_CO_TRY(auto events, co_await read_timed_output(agent, command_path(session_, id), 0, kLongestLog));
    const long long oldest = oldest_ms();
    const auto first =
        std::ranges::find_if(events, [oldest](const TimedOutput& one) { return unix_ms(one.time) >= oldest; });
    co_return first == events.end() ? end : first->offset;
  }

  /// Prints the output up to now, with the time of each line, or only lines since a time.
  Task<Result<int>> show_lines(AgentClient* agent, std::string id) const {
    SKIFF_CO_TRY(auto events, co_await read_timed_output(agent, command_path(session_, id), 0, kLongestLog));
    const long long oldest = oldest_ms();
    std::string text;
    bool in_line = false;
    std::uint64_t lost = 0;
    for (const TimedOutput& one : events) {
      if (!one.bytes.empty() && unix_ms(one.time) < oldest) continue;
      // Output that was dropped before the first of them may be older.
      if (since_.count() == 0 || !text.empty()) lost += one.lost_before;
      for (const char c : one.bytes) {
        if (timestamps_ && !std::exchange(in_line, true)) text += one.time + " ";
        text += c;
        if (c == '\n') in_line = false;
      }
    }
    std::string_view shown{text};
    const auto begin = lines_ ? begin_of_last_lines(shown, *lines_) : std::nullopt;
    shown.remove_prefix(begin.value_or(0));
    SKIFF_CO_TRY_VOID(print(shown));
    if (lost == 0 || begin) co_return 0;
    say(std::to_string(lost) + " bytes of output were dropped before they could be read");
    co_return 1;
  }

  bool follow_ = false;
  bool agent_ = false;
  bool previous_ = false;
  bool timestamps_ = false;
  milliseconds since_{0};
  std::uint64_t tail_ = 0;
  std::optional<std::uint64_t> lines_;
  std::uint64_t from_ = 0;
  std::string session_ = "default";
};

}  // namespace

Command logs_command() {
  return {.name = "logs",
          .group = "Commands",
          .summary = "print the output of a command",
          .text =
              "stdout is printed to stdout, stderr to stderr. Without COMMAND skiff prints the output of the command\n"
              "that `skiff run` started, or of the newest.\n"
              "--agent prints the log of the sandbox instead.\n"
              "\n"
              "  skiff logs demo -f --tail 20\n"
              "  skiff logs demo -f --since 5m\n"
              "  skiff logs demo --agent",
          .words = {{.name = "NAME", .kind = WordKind::sandbox},
                    {.name = "COMMAND", .kind = WordKind::command_id, .optional = true}},
          .make = &create_invocation<Logs>};
}

}  // namespace skiff::container
