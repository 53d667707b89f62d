#include "container/cli/parse/parse.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "container/cli/flags/spec_flags.hpp"
#include "container/cli/parse/config_file.hpp"
#include "container/cli/parse/foreign_words.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {
namespace {

constexpr std::string_view kExitStatuses =
    "Exit status: that of the command that was run (128 + N if signal N ended it, 124 after\n"
    "--timeout, 127 if it was not found, 126 if it cannot be run), or 125 if skiff itself\n"
    "failed.\n";

bool is_help(std::string_view argument) {
  return argument == "--help" || argument == "-h";
}

std::size_t least_words(const Command& command) {
  return static_cast<std::size_t>(std::ranges::count(command.words, false, &Word::optional));
}

Result<> check_words(const Command& command, const SettingsTable::Arguments& given) {
  const std::string how = "usage: skiff " + std::string{command.name} + " [flags] " + usage(command);
  const bool is_open = !command.words.empty() && command.words.back().repeated;
  if (given.words.size() < least_words(command)) {
    const auto missing = command.words.at(given.words.size()).name;
    return fail(Errc::missing_field, std::string{missing} + " is missing; " + how, std::string{command.name});
  }
  if (given.words.size() > command.words.size() && !is_open) {
    const std::string extra = given.words.at(command.words.size());
    return fail(Errc::invalid_field, "unexpected argument \"" + extra + "\"; " + how, std::string{command.name});
  }
  if (command.rest == Rest::required && given.rest.empty()) {
    return fail(Errc::missing_field, "the command to run is missing; " + how, std::string{command.name});
  }
  return {};
}

/// True for a flag that describes a new sandbox. In other commands the same flag may mean something else: which
/// sandboxes to list, or what to change.
bool describes_sandboxes(std::string_view flag) {
  SpecFlags flags;
  return std::ranges::count(flags.rows(), flag, &Setting::flag) > 0;
}

/// A key of the file that is not a flag of any command is an error; a flag of another command is ignored.
Result<> apply(const ConfigFile& config, const Command& command, SettingsTable& table) {
  for (const auto& [key, values] : config.values) {
    if (!command.makes_sandboxes && describes_sandboxes(key)) continue;
    SKIFF_TRY(auto known, table.set(key, values, config.path + ": " + key));
    const auto has_it = [&key](const Command& command) {
      const auto other = command.make();
      return std::ranges::count(other->rows(), key, &Setting::flag) > 0;
    };
    if (!known && std::ranges::none_of(commands(), has_it)) {
      return fail(Errc::unknown_field, config.path + ": no command has a flag --" + key, config.path);
    }
  }
  return {};
}

/// A command line to run begins with the first word that is not skiff's, as with docker, with or without a `--`.
/// The first sandbox that the words name, by NAME or NAME:PATH; empty if none does.
std::string first_sandbox(const Command& command, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size() && !command.words.empty(); ++i) {
    const WordKind kind = command.words[std::min(i, command.words.size() - 1)].kind;
    if (kind == WordKind::sandbox) return words[i];
    const bool is_path = kind == WordKind::remote_path || kind == WordKind::any_path;
    if (const std::size_t colon = words[i].find(':'); is_path && colon != std::string::npos) {
      return words[i].substr(0, colon);
    }
  }
  return {};
}

std::size_t most_words(const Command& command) {
  return command.rest == Rest::required ? command.words.size() : SettingsTable::kAnyNumber;
}

/// The arguments without the command line to run, whose flags are not for skiff.
std::span<const char* const> before_rest(const Command& command, std::span<const char* const> arguments) {
  const auto invocation = command.make();
  Options options;
  const auto read =
      table_of(*invocation, options).read_arguments(arguments, SettingsTable::Words::collected, most_words(command));
  return read ? arguments.first(arguments.size() - read->rest.size()) : arguments;
}

/// The path of the config file, which is needed before the rest can be parsed.
Result<std::string> config_path(std::span<const char* const> arguments, const char* const* environment) {
  std::string path;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry{*environment};
    if (entry.starts_with("SKIFF_CONFIG=")) path = entry.substr(entry.find('=') + 1);
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument{arguments[i]};
    if (argument == "--") break;
    if (argument.starts_with("--config=")) path = argument.substr(argument.find('=') + 1);
    if (argument == "--config" && i + 1 < arguments.size()) path = arguments[i + 1];
  }
  return path;
}

/// Removes kubectl's kinds: `pods web` and `pod/web` mean the sandbox web, `get pod` means all sandboxes, and `svc/web`
/// means web for `skiff forward`. A sandbox that is itself called `pod` can be named alone; otherwise, and always for
/// `get`, write `pod/pod`. Fails if a plural names all sandboxes and the command takes one.
Result<> leave_kinds_out(const Command& command, std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 5> kKinds{"pods", "sandboxes", "po", "pod", "sandbox"};
  if (words.empty() || command.words.empty() || command.words.front().kind != WordKind::sandbox) return {};
  if (command.name == "ps" && words.size() == 1 &&
      (words.front() == "all" || std::ranges::count(kKinds, words.front()) > 0)) {
    words.clear();
    return {};
  }
  if (command.name == "forward") {
    for (const std::string_view kind : {"svc/", "service/"}) {
      if (words.front().starts_with(kind)) words.front().erase(0, kind.size());
    }
  }
  const bool is_plural = words.front() == "pods" || words.front() == "sandboxes";
  const bool is_open = command.words.front().repeated;
  const bool is_one_too_many = words.size() == command.words.size() + 1 && !command.words.back().repeated;
  if (std::ranges::count(kKinds, words.front()) > 0 && (is_open ? words.size() > 1 || is_plural : is_one_too_many)) {
    words.erase(words.begin());
  } else if (is_plural && !is_open && words.size() == 1) {
    const std::string name{command.name};
    return fail(Errc::invalid_field,
                "\"" + words.front() + "\" means all sandboxes, and " + name + " takes one: skiff " + name +
                    " NAME (skiff ps lists them)",
                name);
  }
  for (std::string& word : std::span{words}.first(is_open ? words.size() : std::min<std::size_t>(words.size(), 1))) {
    for (const std::string_view kind : kKinds) {
      if (word.starts_with(std::string{kind} + "/")) {
        word.erase(0, kind.size() + 1);
        break;
      }
    }
  }
  return {};
}

/// A command that was meant for a cluster must not run on this machine.
Result<> check_cluster_flags(const Options& options, const SettingsTable::Arguments& given) {
  if (!is_of_this_machine(options.driver)) return {};
  for (const std::string_view flag : {"--context", "--kubeconfig", "--server"}) {
    if (std::ranges::count(given.given, flag) == 0) continue;
    return fail(Errc::invalid_field,
                std::string{flag} + " names a cluster, and the driver is " + options.driver + ": add --driver pod",
                std::string{flag});
  }
  return {};
}

/// Adds skiff's own way to an error about a flag of kubectl or docker.
Error explained(Error error, std::string_view command) {
  const std::string_view line = line_for_flag(command, error.field);
  if (!line.empty()) error.message = "unknown flag " + error.field + ": " + std::string{line};
  return error;
}

/// The error for a word that is not a command, with a guess at what was meant.
std::unexpected<Error> no_such_command(const std::string& typed) {
  std::string message = "there is no command \"" + typed + "\"";
  std::string seconds;
  std::vector<std::string_view> known;
  for (const Command& command : commands()) {
    if (command.group.empty()) continue;
    known.push_back(command.name);
    known.insert(known.end(), command.aliases.begin(), command.aliases.end());
    if (command.name.starts_with(typed + " ")) seconds += (seconds.empty() ? "" : ", ") + std::string{command.name};
  }
  if (!seconds.empty()) return fail(Errc::invalid_field, message + "; there are: " + seconds, "");
  if (const std::string_view line = line_for_command(typed); !line.empty()) {
    return fail(Errc::invalid_field, message + ". Here it is: " + std::string{line}, "");
  }
  const std::string_view nearest = nearest_word(typed, known);
  if (!nearest.empty()) message += ": did you mean \"" + std::string{nearest} + "\"?";
  return fail(Errc::invalid_field, std::move(message), "");
}

}  // namespace

Result<std::size_t> flags_before_command(std::span<const char* const> arguments) {
  Options options;
  SettingsTable table{option_rows(options)};
  auto read = table.read_arguments(arguments, SettingsTable::Words::collected, 0);
  if (!read) {
    Error error = std::move(read.error());
    if (line_for_flag({}, error.field).empty()) {
      error.message += " (only flags of every command may stand before the command)";
    } else {
      error = explained(std::move(error), {});
    }
    error.field.clear();
    return std::unexpected{std::move(error)};
  }
  if (read->help) return 0;
  return arguments.size() - read->rest.size() - (read->separated ? 1 : 0);
}

SettingsTable table_of(Invocation& invocation, Options& options) {
  std::vector<Setting> rows = invocation.rows();
  for (Setting& row : rows) {
    if (row.group.empty()) row.group = "Flags";
  }
  std::ranges::move(option_rows(options), std::back_inserter(rows));
  return SettingsTable{std::move(rows)};
}

Named find_command(std::span<const char* const> arguments) {
  if (arguments.empty()) return {};
  const std::string first{arguments.front()};
  const std::string both = arguments.size() > 1 ? first + " " + arguments[1] : first;
  Named found;
  for (const Command& command : commands()) {
    if (command.name == both && both != first) return {&command, 2};
    if (command.name == first || std::ranges::count(command.aliases, first) > 0) found = {&command, 1};
  }
  return found;
}

Result<Parsed> parse(std::span<const char* const> arguments, const char* const* environment) {
  Parsed parsed;
  const std::string_view first = arguments.empty() ? std::string_view{} : std::string_view{arguments.front()};
  if (first.empty() || is_help(first) || first == "help") {
    parsed.help = true;
    if (arguments.size() < 2) return parsed;
    parsed.command = find_command(arguments.subspan(1)).command;
    if (first == "help" && parsed.command == nullptr && arguments[1][0] != '-') return no_such_command(arguments[1]);
    return parsed;
  }
  // -v alone is docker's; in any other place it would be a flag of a command.
  if (first == "--version" || (first == "-v" && arguments.size() == 1)) {
    const std::vector<const char*> words{"version"};
    return parse(words, environment);
  }
  SKIFF_TRY(auto before, flags_before_command(arguments));
  const Named named = find_command(arguments.subspan(before));
  if (named.command == nullptr) {
    if (before < arguments.size() && !std::string_view{arguments[before]}.starts_with('-')) {
      return no_such_command(arguments[before]);
    }
    const bool help = std::ranges::any_of(arguments, [](std::string_view argument) { return is_help(argument); });
    parsed.help = help;
    if (help) return parsed;
    return fail(Errc::missing_field, "the command is missing", "");
  }
  const std::string name{named.command->name};
  parsed.command = named.command;
  parsed.invocation = named.command->make();
  SettingsTable table = table_of(*parsed.invocation, parsed.options);
  // Flags before the command's name are parsed as if they stood behind it.
  std::vector<const char*> all{arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(before)};
  all.insert(all.end(), arguments.begin() + static_cast<std::ptrdiff_t>(before + named.words), arguments.end());
  const auto own = before_rest(*named.command, all);
  const auto refuse = [&name](Error error) {
    error.field = name;
    return std::unexpected{std::move(error)};
  };
  // Help must not fail on a bad file or variable.
  for (const std::string_view argument : own) {
    if (argument == "--") break;
    if (is_help(argument)) {
      parsed.help = true;
      return parsed;
    }
  }
  auto path = config_path(own, environment);
  if (!path) return refuse(std::move(path.error()));
  auto config = read_config(std::move(*path));
  if (!config) return refuse(std::move(config.error()));
  if (auto applied = apply(*config, *named.command, table); !applied) return refuse(std::move(applied.error()));
  if (auto read = table.read_environment(environment); !read) return refuse(std::move(read.error()));
  auto given = table.read_arguments(all, SettingsTable::Words::collected, most_words(*named.command));
  if (!given) return refuse(explained(std::move(given.error()), name));
  parsed.options.has_driver_flag = std::ranges::count(given->given, "--driver") > 0;
  parsed.options.has_url_flag = std::ranges::count(given->given, "--url") > 0;
  if (auto fits = check_cluster_flags(parsed.options, *given); !fits) return refuse(std::move(fits.error()));
  // If the command runs no command line, the words behind `--` are its own, even if they begin with a dash.
  if (parsed.command->rest == Rest::none)
    std::ranges::move(std::exchange(given->rest, {}), std::back_inserter(given->words));
  SKIFF_TRY_VOID(leave_kinds_out(*parsed.command, given->words));
  SKIFF_TRY_VOID(check_words(*parsed.command, *given));
  parsed.arguments = std::move(*given);
  parsed.options.sandbox = first_sandbox(*parsed.command, parsed.arguments.words);
  if (parsed.options.owner.empty()) parsed.options.owner = default_owner();
  return parsed;
}

std::string overview() {
  constexpr std::size_t kNameColumns = 19;  // "egress profiles", and two spaces on each side
  std::string text =
      "skiff creates sandboxes for AI agents, runs commands in them and removes them.\n"
      "\n"
      "usage: skiff [flags] COMMAND [flags] ...     `skiff COMMAND --help` describes a command\n";
  std::string_view group;
  for (const Command& command : commands()) {
    if (command.group.empty()) continue;
    if (command.group != group) {
      group = command.group;
      text += "\n" + std::string{group} + ":\n";
    }
    std::string line = "  " + std::string{command.name};
    line.append(line.size() < kNameColumns ? kNameColumns - line.size() : 1, ' ');
    text += line + std::string{command.summary} + "\n";
  }
  std::string others;
  for (const Command& command : commands()) {
    for (const std::string_view alias : command.aliases) {
      others += (others.empty() ? "" : ", ") + std::string{alias} + " (" + std::string{command.name} + ")";
    }
  }
  return text + "\nOther names: " + others + ".\n\n" + std::string{kExitStatuses};
}

std::string command_help(const Command& command, std::size_t width) {
  const auto invocation = command.make();
  Options options;
  std::string text = "usage: skiff " + std::string{command.name} + " [flags]";
  if (const std::string words = usage(command); !words.empty()) text += " " + words;
  text += "\n\n" + std::string{command.summary} + "\n";
  text[text.find("\n\n") + 2] = static_cast<char>(std::toupper(command.summary.front()));
  text.insert(text.size() - 1, ".");
  for (const std::string_view alias : command.aliases) {
    text += (alias == command.aliases.front() ? "Also: skiff " : ", skiff ") + std::string{alias};
  }
  if (!command.aliases.empty()) text += ".\n";
  if (!command.text.empty()) text += "\n" + std::string{command.text} + "\n";
  text += "\n" + table_of(*invocation, options).help(width);
  if (command.rest != Rest::none) text += "\n" + std::string{kExitStatuses};
  return text;
}

}  // namespace skiff::container
