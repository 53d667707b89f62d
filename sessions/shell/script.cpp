#include "sessions/shell/script.hpp"

#include "sessions/shell/words.hpp"

namespace skiff::sessions {
namespace {

// The script is one compound command on one line: it is parsed whole before any alias of the session or of the command
// exists, and the command's own first line is line 1 of what the shell reports. Words that an alias of a login profile
// could replace are quoted by a backslash; where functions may exist, `builtin` and `command` pass them by.
//
// Which shell it is, the shell says itself each time, for /bin/sh may be any of them, and may become another one.

/// After the command: the status is kept in $1, which no dump shows.
constexpr std::string_view kBashDump = R"(builtin set +exuv -- "$?";builtin trap - DEBUG ERR RETURN;)";
// In POSIX mode bash's pwd fails in a directory that is gone, which must not be taken for the session's directory.
constexpr std::string_view kBashSections =
    R"(builtin echo '#bash';builtin pwd||builtin printf '%s\n' "$PWD";)"
    R"(builtin echo '#umask';builtin umask;builtin echo '#options';builtin shopt -p;)"
    R"(builtin echo '#variables';builtin declare -p;builtin echo '#aliases';builtin alias -p;)";
constexpr std::string_view kBashFunctions =
    R"(builtin echo '#attributes';builtin declare -F;builtin echo '#functions';builtin declare -f;)";
constexpr std::string_view kPosixDump = R"(\set +exuv -- "$?";)";
constexpr std::string_view kPosixSections =
    R"(\unset -f command;\command echo '#posix';\command pwd||\command printf '%s\n' "$PWD";)"
    R"(\command echo '#umask';\command umask;)"
    R"(\command echo '#variables';\command set;\command echo '#exported';\command export -p;)"
    R"(\command echo '#readonly';\command readonly -p;\command echo '#aliases';\command alias;)";

}  // namespace

std::string ShellScript::text() const {
  const std::string dump_fd = std::to_string(kDumpFd);
  std::string text = std::string{"{ \\unset "} + kVariable + ';';
  if (!cwd.empty()) {
    // What cd says when the directory is gone is for the user to see.
    text += "\\command cd -- " + quote_word(cwd) + " >/dev/null||\\command cd -- " + quote_word(fallback_cwd) +
            " >/dev/null||\\exit 126;";
  }
  if (tells_start && dumps) text += "{ \\command echo '#start';\\command pwd;} >&" + dump_fd + ';';
  const bool told = tells_reading && dumps && before != nullptr;
  if (told) text += "\\command echo '#reading' >&" + dump_fd + ';';
  if (before != nullptr) {
    // `command`: an error in what is read ends neither this nor the shell.
    text += "\\command . /proc/self/fd/" + std::to_string(kSnapshotFd) + " >/dev/null 2>&1;";
  }
  if (bash()) {
    text += std::string{"builtin shopt -"} + (before->expand_aliases() ? 's' : 'u') + " expand_aliases;";
    text += std::string{"builtin shopt -"} + (before->extglob() ? 's' : 'u') + " extglob;";
  } else if (before == nullptr) {
    text += R"(case ${BASH_VERSION-} in ?*)\shopt -s expand_aliases;;esac;)";
  }
  const std::string builtin = bash() ? "builtin " : "\\";
  if (told) {
    // The path may name another shell by now, which has no `builtin`.
    text += std::string{"{ "} + (bash() ? "builtin echo '#begun'||" : "");
    text += "\\command echo '#begun';} >&" + dump_fd + " 2>/dev/null;";
  }
  if (is_long()) {
    text += builtin + ". /proc/self/fd/" + std::to_string(kCommandFd);
  } else {
    text += builtin + "eval \"" + builtin + "shift;$1\"";
  }
  if (!dumps) return text + ";}";
  text += ' ' + dump_fd + ">&-;{ case ${BASH_VERSION-} in ?*)";
  const auto section = [&](std::string_view before_dump, std::string_view trap, std::string_view sections,
                           std::string_view last) {
    text += before_dump;
    if (file_size_limited) text += trap;
    text.append("{ ").append(sections);
    text.append(last).append("} >&").append(dump_fd).append(";");
  };
  std::string bash_end = functions ? std::string{kBashFunctions} : std::string{};
  bash_end += "builtin echo '#ok';";
  section(kBashDump, "builtin trap '' XFSZ;", kBashSections, bash_end);
  // A function of this name would be taken for the builtin below, which bash then could not reach.
  text += "builtin unset -f exit;;*)";
  section(kPosixDump, "\\trap '' XFSZ;", kPosixSections, "\\command echo '#ok';");
  // Outside the redirection: the user's EXIT trap runs here.
  return text + ";esac;} >/dev/null 2>&1;\\exit \"$1\";}";
}

std::vector<std::string> ShellScript::argv() const {
  std::vector<std::string> words{shell};
  if (login) words.emplace_back("-l");
  words.insert(words.end(), {"-c", std::string{"\\eval \"$"} + kVariable + '"', shell});
  if (!is_long()) words.emplace_back(command);
  return words;
}

std::string ShellScript::command_file() const {
  // Not `builtin exec`: bash would open it again.
  std::string text = "\\exec " + std::to_string(kCommandFd) + "<&-;";
  return text.append(command);
}

}  // namespace skiff::sessions
