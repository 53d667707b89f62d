#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sessions/shell/snapshot.hpp"
#include "sessions/spawn/environment.hpp"

namespace {

using namespace skiff::sessions;

void require(bool condition) {
  if (!condition) std::abort();
}

bool take(std::string_view& rest, std::string_view what) {
  if (!rest.starts_with(what)) return false;
  rest.remove_prefix(what.size());
  return true;
}

std::string_view take_name(std::string_view& rest) {
  const auto belongs = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  std::size_t size = 0;
  while (size < rest.size() && belongs(rest[size])) ++size;
  require(size > 0 && (rest[0] < '0' || rest[0] > '9'));
  const std::string_view name = rest.substr(0, size);
  rest.remove_prefix(size);
  return name;
}

/// One word up to the end of its line, in which a shell has nothing to expand, to run or to redirect.
void take_word(std::string_view& rest) {
  enum class In : std::uint8_t { plain, single, dollar, twofold };
  In in = In::plain;
  for (std::size_t at = 0; at < rest.size(); ++at) {
    const char c = rest[at];
    if (in == In::single) {
      if (c == '\'') in = In::plain;
    } else if (in == In::dollar) {
      if (c == '\'') in = In::plain;
      if (c == '\\') ++at;
    } else if (in == In::twofold) {
      require(c != '$' && c != '`');
      if (c == '"') in = In::plain;
      if (c == '\\') ++at;
    } else if (c == '\n') {
      rest.remove_prefix(at + 1);
      return;
    } else if (c == '\'') {
      in = In::single;
    } else if (c == '"') {
      in = In::twofold;
    } else if (c == '$') {
      require(at + 1 < rest.size() && rest[at + 1] == '\'');
      in = In::dollar;
      ++at;
    } else if (c == '\\') {
      ++at;
    } else {
      require(std::string_view{" \t|&;<>()`*?[]{}~#!"}.find(c) == std::string_view::npos);
    }
  }
  require(false);  // a quote is open, or the line has no end
}

/// What a POSIX shell reads, which may be any: assignments and four commands, with words that stand for themselves. As
/// the dump that such a shell would write.
std::string checked_posix(std::string_view rest) {
  std::string variables;
  std::string exported;
  std::string readonly;
  std::string aliases;
  std::string umask = "?";
  const auto line_from = [&rest](std::string_view begin) {
    return std::string{begin.data(), static_cast<std::size_t>(rest.data() - begin.data())};
  };
  require(take(rest, "\\exec 8<&-\n"));
  while (!rest.empty()) {
    if (take(rest, "\\command readonly ")) {
      const std::string_view begin = rest;
      const std::string name{take_name(rest)};
      readonly += "readonly " + name + "\n";
      if (take(rest, "=")) {
        take_word(rest);
        variables += line_from(begin);
      } else {
        require(take(rest, "\n"));
      }
    } else if (take(rest, "\\command export")) {
      do {
        require(take(rest, " "));
        exported.append("export ").append(take_name(rest)).append("\n");
      } while (!take(rest, "\n"));
    } else if (take(rest, "\\command umask ")) {
      umask = rest.substr(0, rest.find('\n'));
      require(!umask.empty() && umask.size() <= 4 && umask.find_first_not_of("01234567") == std::string::npos);
      rest.remove_prefix(umask.size());
      require(take(rest, "\n"));
    } else if (take(rest, "\\command alias ")) {
      const std::string_view begin = rest;
      take_word(rest);
      aliases += line_from(begin);
    } else {
      const std::string_view begin = rest;
      (void)take_name(rest);
      require(take(rest, "="));
      take_word(rest);
      variables += line_from(begin);
    }
  }
  return "#posix\n/\n#umask\n" + umask + "\n#variables\n" + variables + "#exported\n" + exported + "#readonly\n" +
         readonly + "#aliases\n" + aliases + "#ok\n";
}

Variables exported_by(const ShellSnapshot& snapshot) {
  Environment environment;
  snapshot.apply_exported(environment);
  return environment.variables();
}

}  // namespace

/// What the shells of untrusted commands wrote, BEFORE NUL NOW: a POSIX shell is given nothing that it would run, and
/// writes the same again; what was exported stays, and what belongs to one command goes with it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input{reinterpret_cast<const char*>(data), size};
  const std::string_view first = input.substr(0, input.find('\0'));
  const auto before = ShellSnapshot::read(first);
  auto now = ShellSnapshot::read(input.substr(std::min(first.size() + 1, size)));
  if (!now) return 0;
  require(now->cwd().empty() || now->cwd().starts_with('/'));

  const Variables exported = exported_by(*now);
  Environment environment{exported};
  now->restrict(environment, {});
  require(environment.variables() == exported);
  for (const auto& [name, value] : exported) require(now->exports(name));

  const std::string script = now->script({}, 8);
  if (now->dialect() == Dialect::posix) {
    const auto again = ShellSnapshot::read(checked_posix(script));
    require(again.has_value() && again->script({}, 8) == script && exported_by(*again) == exported);
  } else {
    require(script.starts_with("\\exec 8<&-\nshopt -u expand_aliases\nshopt -s extglob"));
  }

  Names names{"A", "PATH"};
  for (const auto& [name, value] : exported) names.insert(name);
  const std::string without = now->script(names, 8);
  now->put_back(names, before ? &*before : nullptr);
  require(now->script(names, 8) == without);
  for (const std::string& name : names) {
    const bool same_shell = before && before->dialect() == now->dialect();
    require(now->exports(name) == (same_shell && before->exports(name)));
  }
  return 0;
}
