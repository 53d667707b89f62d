#include "sessions/shell/script.hpp"

#include "sessions/shell/words.hpp"

namespace skiff::sessions {
namespace {

// The script is one compound command on one line. So the shell parses it before any alias of the session or the command
// exists, and reports the command's first line as line 1. A backslash quotes words that an alias of a login profile
// could replace; where functions may exist, `builtin` and `command` bypass them.
//
// The shell names itself each time: /bin/sh may be any shell, and may be replaced by another.

/// Runs after the command. It keeps the status in $1, which no dump shows.
constexpr std::string_view kBashDump = R"(builtin set +exuv -- "$?";builtin trap - DEBUG ERR RETURN;)";
// In POSIX mode bash's pwd fails in a removed directory; $PWD is printed instead.
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
    // The user sees cd's message when the directory is gone.
    text += "\\command cd -- " + quote_word(cwd) + " >/dev/null||\\command cd -- " + quote_word(fallback_cwd) +
            " >/dev/null||\\exit 126;";
  }
  if (tells_start && dumps) text += "{ \\command echo '#start';\\command pwd;} >&" + dump_fd + ';';
  const bool told = tells_reading && dumps && before != nullptr;
  if (told) text += "\\command echo '#reading' >&" + dump_fd + ';';
  if (before != nullptr) {
    // With `command` an error in the snapshot ends neither this script nor the shell.
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
    // The shell's path may name another shell by now, without `builtin`.
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
  // Remove a function of this name: it would hide the builtin below.
  text += "builtin unset -f exit;;*)";
  section(kPosixDump, "\\trap '' XFSZ;", kPosixSections, "\\command echo '#ok';");
  // Exit outside the redirection: the user's EXIT trap runs here.
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
  // Do not use `builtin exec`: bash would open the descriptor again.
  std::string text = "\\exec " + std::to_string(kCommandFd) + "<&-;";
  return text.append(command);
}

}  // namespace skiff::sessions
