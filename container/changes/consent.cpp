#include "container/changes/consent.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace skiff::container::changes {
namespace {

struct Runner {
  std::string_view name;  ///< of a file, or of a directory with all that is in it, anywhere; in lower case
  std::string_view by;    ///< the program that runs it or takes settings from it
  bool is_file = false;   ///< directories of this name do not matter
};
/// What runs on this machine by itself, or at an everyday command.
constexpr auto kRunners = std::to_array<Runner>({
    {".bazelrc", "bazel"},
    {".claude", "Claude Code"},
    {".codex", "Codex"},
    {".cursor", "Cursor"},
    {".devcontainer", "editors"},
    {".envrc", "direnv"},
    {".exrc", "vim"},
    {".gdbinit", "gdb"},
    {".gemini", "Gemini"},
    {".githooks", "git"},
    {".gitmodules", "git"},
    {".husky", "git"},
    {".idea", "JetBrains' editors"},
    {".lldbinit", "lldb"},
    {".mcp.json", "clients of MCP servers"},
    {".mise.toml", "mise"},
    {".npmrc", "npm"},
    {".nvim.lua", "neovim"},
    {".nvimrc", "neovim"},
    {".pre-commit-config.yaml", "pre-commit"},
    {".vimrc", "vim"},
    {".vscode", "VS Code"},
    {".yarnrc.yml", "yarn"},
    {".zed", "Zed"},
    {"gnumakefile", "make"},
    {"head", "git, which takes its directory for a repository", true},
    {"justfile", "just"},
    {"makefile", "make"},
    {"mise.toml", "mise"},
    {"package.json", "npm"},
    {"taskfile.yml", "task"},
});
/// The entries of a .git directory in which git finds nothing to run. All others need consent.
constexpr auto kGitData = std::to_array<std::string_view>(
    {"commit_editmsg", "fetch_head", "head", "index", "logs", "objects", "orig_head", "packed-refs", "refs"});

/// A name as file systems that fold names see it (ext4's casefold, NTFS, HFS+): without case, characters that they
/// leave out, dots and blanks at its end, and streams.
std::string folded(std::string_view name) {
  constexpr std::string_view kLongS = "\xC5\xBF";       // folds to s
  constexpr std::string_view kKelvin = "\xE2\x84\xAA";  // folds to k
  std::string plain;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const std::string_view rest = name.substr(i);
    const char c = name[i];
    if (c == ':') break;
    if (rest.starts_with(kLongS)) plain += 's';
    if (rest.starts_with(kKelvin)) plain += 'k';
    if (static_cast<unsigned char>(c) < 0x80) plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  while (plain.ends_with('.') || plain.ends_with(' ')) plain.pop_back();
  return plain;
}

std::vector<std::string> folded_names(std::string_view path) {
  std::vector<std::string> names;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    names.push_back(folded(path.substr(0, end)));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return names;
}

bool is_git(std::string_view name) {
  return name == ".git" || name == "git~1";
}

/// Judges a path at or below a .git, whose names follow `names[at]`.
std::string why_git(const std::vector<std::string>& names, std::size_t at, const Change& change) {
  const std::string by_git = "git may run it, or take settings from it";
  if (at + 1 == names.size()) {
    const bool is_directory = S_ISDIR(change.mode) && (change.old_mode == 0 || S_ISDIR(change.old_mode));
    return is_directory ? "" : by_git;
  }
  const bool is_data = std::ranges::count(kGitData, names[at + 1]) > 0;
  const bool is_alternate = names[at + 1] == "objects" && std::ranges::count(names, "info") > 0;
  return is_data && !is_alternate ? "" : by_git;
}

}  // namespace

std::string why_consent(const Change& change) {
  if (S_ISLNK(change.mode) && leads_outside(change.path, change.target)) return "it is a link out of the directory";
  const std::vector<std::string> names = folded_names(change.path);
  for (std::size_t i = 0; i < names.size(); ++i) {
    // A repository in a repository is judged as such.
    const bool is_last_git =
        is_git(names[i]) && std::none_of(names.begin() + static_cast<std::ptrdiff_t>(i) + 1, names.end(), is_git);
    if (is_last_git) return why_git(names, i, change);
  }
  for (const std::string& name : names) {
    const auto runner = std::ranges::find(kRunners, name, &Runner::name);
    if (runner == kRunners.end()) continue;
    const bool is_file = &name == &names.back() && !S_ISDIR(change.mode);
    if (is_file || !runner->is_file) return "it is run or read by " + std::string{runner->by};
  }
  if (names.back().ends_with(".code-workspace")) return "it is run or read by VS Code";
  return {};
}

bool leads_outside(std::string_view path, std::string_view target) {
  if (target.starts_with('/')) return true;
  auto levels = std::ranges::count(path, '/');
  bool is_below = false;
  while (!target.empty()) {
    const std::size_t end = std::min(target.find('/'), target.size());
    const std::string_view name = target.substr(0, end);
    target.remove_prefix(std::min(end + 1, target.size()));
    if (name.empty() || name == ".") continue;
    if (name != "..") {
      is_below = true;
      continue;
    }
    // The name before may be a link, so nobody knows where its parent is.
    if (is_below || levels-- == 0) return true;
  }
  return false;
}

}  // namespace skiff::container::changes
