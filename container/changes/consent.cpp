#include "container/changes/consent.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace skiff::container::changes {
namespace {

struct Runner {
  /// The name of a file, or of a directory with all that is in it, anywhere; in lower case. With * at its end: the
  /// beginning of names. With /: a name in a directory.
  std::string_view name;
  std::string_view by;   ///< the program that runs it or takes settings from it
  bool is_file = false;  ///< directories of this name do not matter
};
/// What runs on this machine by itself, or at an everyday command. Coding agents run what their instructions say.
constexpr auto kRunners = std::to_array<Runner>({
    {".aider.conf.yml", "Aider"},
    {".bazeliskrc", "bazel"},
    {".bazelrc", "bazel"},
    {".cargo", "cargo"},
    {".claude", "Claude Code"},
    {".codex", "Codex"},
    {".config/mise", "mise"},
    {".cursor", "Cursor"},
    {".cursorrules", "Cursor"},
    {".devcontainer", "editors"},
    {".dir-locals*", "Emacs"},
    {".envrc", "direnv"},
    {".exrc", "vim"},
    {".gdbinit", "gdb"},
    {".gemini", "Gemini"},
    {".gitattributes", "git"},
    {".githooks", "git"},
    {".github/copilot-instructions.md", "Copilot"},
    {".gitmodules", "git"},
    {".hg", "Mercurial"},
    {".husky", "git"},
    {".idea", "JetBrains' editors"},
    {".jj", "jj"},
    {".justfile", "just"},
    {".kiro", "Kiro"},
    {".lazy.lua", "neovim"},
    {".lefthook*", "git, by lefthook"},
    {".lldbinit", "lldb"},
    {".lvimrc", "vim"},
    {".mcp.json", "clients of MCP servers"},
    {".mise*", "mise"},
    {".npmrc", "npm"},
    {".nvim.lua", "neovim"},
    {".nvimrc", "neovim"},
    {".opencode", "opencode"},
    {".pnpmfile.*", "pnpm"},
    {".pre-commit-config.yaml", "pre-commit"},
    {".sl", "Sapling"},
    {".vimrc", "vim"},
    {".vscode", "VS Code"},
    {".windsurf", "Windsurf"},
    {".windsurfrules", "Windsurf"},
    {".yarnrc*", "yarn"},
    {".zed", "Zed"},
    {"agents.md", "coding agents"},
    {"build.rs", "cargo"},
    {"claude.local.md", "Claude Code"},
    {"claude.md", "Claude Code"},
    {"conftest.py", "pytest"},
    {"gemini.md", "Gemini"},
    {"gnumakefile", "make"},
    {"head", "git, which takes its directory for a repository", true},
    {"justfile", "just"},
    {"lefthook*", "git, by lefthook"},
    {"makefile", "make"},
    {"mise.*", "mise"},
    {"mise/config.*", "mise"},
    {"opencode.json*", "opencode"},
    {"package.json", "npm"},
    {"pnpm-workspace.yaml", "pnpm"},
    {"rust-toolchain*", "rustup"},
    {"setup.py", "pip"},
    {"taskfile.*", "task"},
    {"tools/bazel", "bazel"},
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
  std::string by_git = "git may run it, or take settings from it";
  // Git writes through links, for example into a log.
  if (S_ISLNK(change.mode)) return by_git;
  if (at + 1 == names.size()) {
    const bool is_directory = S_ISDIR(change.mode) && (change.old_mode == 0 || S_ISDIR(change.old_mode));
    return is_directory ? "" : by_git;
  }
  const bool is_data = std::ranges::count(kGitData, names[at + 1]) > 0;
  const bool is_alternate = names[at + 1] == "objects" && std::ranges::count(names, "info") > 0;
  return is_data && !is_alternate ? "" : by_git;
}

/// Judges a path that has a slash before and after each of its names by the table.
std::string why_runner(std::string_view path, mode_t mode) {
  for (const Runner& runner : kRunners) {
    std::string name = "/" + std::string{runner.name};
    if (name.ends_with('*')) {
      name.pop_back();
    } else {
      name += '/';
    }
    const bool is_run = runner.is_file ? path.ends_with(name) && !S_ISDIR(mode) : path.contains(name);
    // A link may stand for the directory in which the name is.
    const bool leads_to_it =
        S_ISLNK(mode) && runner.name.contains('/') && path.ends_with(name.substr(0, name.find('/', 1) + 1));
    if (is_run || leads_to_it) return "it is run or read by " + std::string{runner.by};
  }
  if (path.ends_with(".code-workspace/")) return "it is run or read by VS Code";
  return {};
}

/// Judges a path by its names.
std::string why_names(const Change& change) {
  const std::vector<std::string> names = folded_names(change.path);
  for (std::size_t i = 0; i < names.size(); ++i) {
    // A repository in a repository is judged as such.
    const bool is_last_git =
        is_git(names[i]) && std::none_of(names.begin() + static_cast<std::ptrdiff_t>(i) + 1, names.end(), is_git);
    if (is_last_git) return why_git(names, i, change);
  }
  std::string path = "/";
  for (const std::string& name : names) path.append(name).append("/");
  return why_runner(path, change.mode);
}

std::string parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string{path.substr(0, slash == std::string_view::npos ? 0 : slash)};
}

/// Where a link leads that does not lead outside, relative to the same directory as `path`.
std::string resolved(std::string_view path, std::string_view target) {
  std::string at = parent_of(path);
  while (!target.empty()) {
    const std::size_t end = std::min(target.find('/'), target.size());
    const std::string_view name = target.substr(0, end);
    target.remove_prefix(std::min(end + 1, target.size()));
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      at = parent_of(at);
    } else {
      at.append(at.empty() ? "" : "/").append(name);
    }
  }
  return at;
}

}  // namespace

std::string why_consent(const Change& change) {
  if (S_ISLNK(change.mode)) {
    if (leads_outside(change.path, change.target)) return "it is a link out of the directory";
    // Programs of this machine write through the link.
    const Change aim{.path = resolved(change.path, change.target), .kind = change.kind, .mode = change.mode};
    if (!why_names(aim).empty()) return "it is a link to a place that needs --yes";
  }
  return why_names(change);
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
