#include "sessions/shell/snapshot.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "sessions/shell/words.hpp"

namespace skiff::sessions {
namespace {

using namespace std::string_view_literals;

// Variables that are not saved: the shell sets them itself, or they describe the last command and not the session.
constexpr std::array kNeverPosix{"FUNCNAME"sv, "IFS"sv, "LINENO"sv, "OPTIND"sv, "PPID"sv, "PWD"sv, "SHLVL"sv, "_"sv};
constexpr std::array kNeverBash{"BASH"sv,          "BASHOPTS"sv,
                                "BASHPID"sv,       "BASH_ALIASES"sv,
                                "BASH_ARGC"sv,     "BASH_ARGV"sv,
                                "BASH_ARGV0"sv,    "BASH_CMDS"sv,
                                "BASH_COMMAND"sv,  "BASH_EXECUTION_STRING"sv,
                                "BASH_LINENO"sv,   "BASH_SOURCE"sv,
                                "BASH_SUBSHELL"sv, "BASH_VERSINFO"sv,
                                "BASH_VERSION"sv,  "COMP_WORDBREAKS"sv,
                                "DIRSTACK"sv,      "EPOCHREALTIME"sv,
                                "EPOCHSECONDS"sv,  "EUID"sv,
                                "FUNCNAME"sv,      "GROUPS"sv,
                                "HISTCMD"sv,       "LINENO"sv,
                                "OPTERR"sv,        "OPTIND"sv,
                                "PIPESTATUS"sv,    "PPID"sv,
                                "PWD"sv,           "RANDOM"sv,
                                "SECONDS"sv,       "SHELLOPTS"sv,
                                "SHLVL"sv,         "SRANDOM"sv,
                                "UID"sv,           "_"sv};
// Variables that are saved only if exported: otherwise they come from the terminal or from the shell's name.
constexpr std::array kOnlyExported{"COLUMNS"sv, "LINES"sv, "POSIXLY_CORRECT"sv};

bool in(std::span<const std::string_view> list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

bool never_kept(Dialect dialect, std::string_view name) {
  return dialect == Dialect::bash ? in(kNeverBash, name) : in(kNeverPosix, name);
}

// Attributes that change an assigned value. The value of an integer is computed, and an error there ends the shell.
// Setting the attribute later keeps any existing value, so the value is assigned first.
constexpr std::string_view kEffects = "iluc";

/// The flags for declaring a variable with its value.
std::string without_effect(std::string_view flags) {
  const bool split = flags.find_first_of(kEffects) != std::string_view::npos;
  const bool reference = flags.find('n') != std::string_view::npos;
  std::string kept;
  for (const char flag : flags) {
    // A readonly variable takes no further attribute.
    if (split && (kEffects.contains(flag) || (flag == 'r' && !reference))) continue;
    kept.push_back(flag);
  }
  return kept.empty() ? "-" : kept;
}

/// The flags to add once the variable has its value; empty: none. A name reference would pass them to its target.
std::string with_effect(std::string_view flags) {
  std::string kept;
  if (flags.find_first_of(kEffects) == std::string_view::npos || flags.find('n') != std::string_view::npos) return kept;
  for (const char flag : flags) {
    if (kEffects.contains(flag) || flag == 'r') kept.push_back(flag);
  }
  return kept;
}

bool is_octal(std::string_view text) {
  return !text.empty() && text.size() <= 4 && text.find_first_not_of("01234567") == std::string_view::npos;
}

}  // namespace

/// Reads a dump from its beginning to its end.
class ShellSnapshot::Reader {
 public:
  explicit Reader(std::string_view dump) : rest_{dump} {}

  std::optional<ShellSnapshot> read() {
    constexpr std::string_view kOk = "#ok\n";
    if (!rest_.ends_with(kOk)) return std::nullopt;
    rest_.remove_suffix(kOk.size());
    if (!read_places()) return std::nullopt;
    std::string_view section;
    while (!rest_.empty()) {
      const auto end = end_of_line(rest_, 0);
      if (!end) return std::nullopt;
      const std::string_view line = rest_.substr(0, *end);
      rest_.remove_prefix(std::min(*end + 1, rest_.size()));
      if (line.starts_with('#')) {
        section = line;
        if (section == "#attributes") now_.knows_functions_ = true;
        // The last section: the bodies of functions need no parsing.
        if (section == "#functions") break;
      } else {
        add(section, line);
      }
    }
    now_.functions_ = std::string{rest_} + attributes_;
    return std::move(now_);
  }

 private:
  /// Reads the first directory, the kind of shell, the last directory and the umask. A path may contain newlines.
  bool read_places() {
    constexpr std::string_view kStart = "#start\n";
    constexpr std::string_view kBash = "#bash\n";
    constexpr std::string_view kPosix = "#posix\n";
    constexpr std::string_view kUmask = "\n#umask\n";
    constexpr std::string_view kHasRead = "#reading\n#begun\n";
    std::optional<std::string_view> start;
    if (rest_.starts_with(kHasRead)) rest_.remove_prefix(kHasRead.size());
    if (rest_.starts_with(kStart)) {
      const std::size_t end = std::min(rest_.find("\n#bash\n"), rest_.find("\n#posix\n"));
      if (end == std::string_view::npos) return false;
      start = rest_.substr(kStart.size(), end + 1 - kStart.size());
      rest_.remove_prefix(end + 1);
      if (start->ends_with(kHasRead)) start->remove_suffix(kHasRead.size());
      start->remove_suffix(std::min<std::size_t>(start->size(), 1));
    }
    if (rest_.starts_with(kBash)) now_.dialect_ = Dialect::bash;
    if (now_.dialect_ == Dialect::posix && !rest_.starts_with(kPosix)) return false;
    rest_.remove_prefix(rest_.find('\n'));
    const std::size_t end = rest_.find(kUmask);
    if (end == std::string_view::npos) return false;
    if (end > 1 && rest_[1] == '/') now_.cwd_ = rest_.substr(1, end - 1);
    now_.stayed_ = start && *start == now_.cwd_;
    rest_.remove_prefix(end + kUmask.size());
    const std::size_t line = rest_.find('\n');
    if (line == std::string_view::npos) return false;
    if (is_octal(rest_.substr(0, line))) now_.umask_ = rest_.substr(0, line);
    rest_.remove_prefix(line + 1);
    return true;
  }

  void add(std::string_view section, std::string_view line) {
    const bool bash = now_.dialect_ == Dialect::bash;
    if (section == "#variables") {
      bash ? add_declared(line) : add_assigned(line);
    } else if (section == "#exported") {
      if (auto* one = named(line, "export ")) one->exported = true;
    } else if (section == "#readonly") {
      if (auto* one = named(line, "readonly ")) one->readonly = true;
    } else if (section == "#aliases") {
      bash ? add_bash_alias(line) : add_alias(line);
    } else if (section == "#options") {
      add_option(line);
    } else if (section == "#attributes" && !line.starts_with("declare -f ")) {
      attributes_.append(line).append("\n");
    }
  }

  /// Adds NAME=word. Skips any other line, because the next shell would run it.
  void add_assigned(std::string_view line) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return;
    const std::string_view name = line.substr(0, equals);
    if (!is_name(name) || never_kept(Dialect::posix, name) || !unquote_word(line.substr(equals + 1))) return;
    now_.variables_.insert_or_assign(std::string{name}, Variable{.line = std::string{line}, .value = equals + 1});
  }

  /// Adds declare -x NAME="word". bash reads back what it prints.
  void add_declared(std::string_view line) {
    constexpr std::string_view kDeclare = "declare -";
    const std::size_t space = line.find(' ', kDeclare.size());
    if (!line.starts_with(kDeclare) || space == std::string_view::npos) return;
    const std::string_view flags = line.substr(kDeclare.size(), space - kDeclare.size());
    const std::size_t equals = line.find('=', space);
    const std::string_view name = line.substr(space + 1, std::min(equals, line.size()) - space - 1);
    const bool exported =
        flags.find('x') != std::string_view::npos && flags.find_first_of("aAn") == std::string_view::npos;
    if (!is_name(name) || never_kept(Dialect::bash, name) || (!exported && in(kOnlyExported, name))) return;
    Variable variable{.line = std::string{line}, .exported = exported};
    if (equals != std::string_view::npos) {
      variable.line = "declare -" + without_effect(flags) + std::string{line.substr(space)};
      variable.value = variable.line.size() - (line.size() - equals) + 1;
      if (const std::string later = with_effect(flags); !later.empty()) {
        variable.attributes = "declare -" + later + " " + std::string{name};
      }
    }
    now_.variables_.insert_or_assign(std::string{name}, std::move(variable));
  }

  /// The variable of "export NAME" or "export NAME=word"; it need not have a value.
  Variable* named(std::string_view line, std::string_view word) {
    if (!line.starts_with(word)) return nullptr;
    const std::string_view rest = line.substr(word.size());
    const std::string_view name = rest.substr(0, rest.find('='));
    if (!is_name(name) || never_kept(Dialect::posix, name)) return nullptr;
    return &now_.variables_.try_emplace(std::string{name}).first->second;
  }

  void add_alias(std::string_view line) {
    if (line.starts_with("alias ")) line.remove_prefix(6);
    const std::size_t equals = line.find('=', 1);
    if (equals == std::string_view::npos) return;
    // Shells print a name without quotes, whatever it contains.
    if (!unquote_word(line.substr(0, equals)) || line.substr(0, equals).find('\\') != std::string_view::npos) return;
    if (!unquote_word(line.substr(equals + 1))) return;
    now_.aliases_.append("\\command alias ").append(line).append("\n");
  }

  void add_bash_alias(std::string_view line) {
    if (line.starts_with("alias ")) now_.aliases_.append(line).append("\n");
  }

  void add_option(std::string_view line) {
    constexpr std::string_view kShopt = "shopt -";
    if (!line.starts_with(kShopt) || line.size() < kShopt.size() + 3) return;
    const bool on = line[kShopt.size()] == 's';
    const std::string_view name = line.substr(kShopt.size() + 2);
    if (!is_name(name) || name == "login_shell" || name == "restricted_shell") return;
    if (name == "expand_aliases") {
      now_.expand_aliases_ = on;
    } else if (name == "extglob") {
      now_.extglob_ = on;
    } else if (on) {
      now_.options_on_.append(" ").append(name);
    } else if (!name.starts_with("compat")) {  // switching one compat option off resets all of them
      now_.options_off_.append(" ").append(name);
    }
  }

  std::string_view rest_;
  ShellSnapshot now_;
  std::string attributes_;
};

std::optional<ShellSnapshot> ShellSnapshot::read(std::string_view dump) {
  return Reader{dump}.read();
}

void ShellSnapshot::put_back(const Names& names, const ShellSnapshot* before) {
  for (const std::string& name : names) {
    variables_.erase(name);
    if (before == nullptr || before->untouched_.contains(name)) untouched_.insert(name);
    // A line of the other dialect cannot be read: the shell was replaced meanwhile.
    if (before == nullptr || before->dialect_ != dialect_) continue;
    if (const auto found = before->variables_.find(name); found != before->variables_.end()) variables_.insert(*found);
  }
}

std::string ShellSnapshot::script(const Names& names, int descriptor) const {
  std::string text = "\\exec " + std::to_string(descriptor) + "<&-\n";
  if (dialect_ == Dialect::bash) {
    append_bash(text, names);
  } else {
    append_posix(text, names);
  }
  return text;
}

void ShellSnapshot::append_bash(std::string& text, const Names& names) const {
  // Aliases must not change how functions are read, and a pattern in a function may need extglob. The script sets both
  // options again.
  text += "shopt -u expand_aliases\n";
  text.append("shopt -s extglob").append(options_on_).append("\n");
  if (!options_off_.empty()) text.append("shopt -u").append(options_off_).append("\n");
  for (const auto& [name, variable] : variables_) {
    if (names.contains(name)) continue;
    text.append(variable.line).append("\n");
    if (!variable.attributes.empty()) text.append(variable.attributes).append("\n");
  }
  if (!umask_.empty()) text.append("umask ").append(umask_).append("\n");
  // Functions come last: one that cannot be read back then loses nothing else.
  text.append(aliases_).append(functions_);
}

void ShellSnapshot::append_posix(std::string& text, const Names& names) const {
  std::string exported;
  for (const auto& [name, variable] : variables_) {
    if (names.contains(name)) continue;
    // With `command` an assignment to a variable that a login profile made readonly does not end the reading.
    if (variable.readonly) {
      text.append("\\command readonly ").append(variable.line.empty() ? name : variable.line).append("\n");
    } else if (!variable.line.empty()) {
      text.append(variable.line).append("\n");
    }
    if (variable.exported) exported.append(" ").append(name);
  }
  if (!exported.empty()) text.append("\\command export").append(exported).append("\n");
  if (!umask_.empty()) text.append("\\command umask ").append(umask_).append("\n");
  text += aliases_;
}

void ShellSnapshot::restrict(Environment& environment, const Names& names) const {
  environment.erase_if([&](std::string_view name) {
    if (name.starts_with("BASH_FUNC_")) return knows_functions_;
    const bool known = is_name(name) && !never_kept(dialect_, name) && !untouched_.contains(name);
    return known && !names.contains(name) && !exports(name);
  });
}

bool ShellSnapshot::exports(std::string_view name) const {
  const auto found = variables_.find(name);
  return found != variables_.end() && found->second.exported;
}

void ShellSnapshot::apply_exported(Environment& environment) const {
  for (const auto& [name, variable] : variables_) {
    if (!variable.exported || variable.value == std::string::npos) continue;
    if (auto value = unquote_word(std::string_view{variable.line}.substr(variable.value))) {
      environment.keep(name, std::move(*value));
    }
  }
}

}  // namespace skiff::sessions
