#include "fs/search/ignore.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "base/unique_fd.hpp"

namespace skiff::fs {
namespace {

/// Removes trailing spaces, except one after a backslash.
std::string_view without_trailing_spaces(std::string_view line) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
      end = i + 1;
    } else if (line[i] != ' ') {
      end = i + 1;
    }
  }
  return line.substr(0, end);
}

std::string read_small_file(int directory, const char* name) {
  // A FIFO with this name must not block the walk.
  const UniqueFd file{::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)};
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  std::string text(IgnoreRules::kMostBytes, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

std::string read_repository_rules(int directory) {
  UniqueFd at{::openat(directory, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (at) at.reset(::openat(at.get(), "info", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return at ? read_small_file(at.get(), "exclude") : std::string{};
}

}  // namespace

IgnoreRules::IgnoreRules(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty() && rules_.size() < kMostRules) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with('#')) continue;
    line = without_trailing_spaces(line);

    Rule rule;
    rule.keeps = line.starts_with('!');
    if (rule.keeps) line.remove_prefix(1);
    rule.only_directories = line.ends_with('/');
    if (rule.only_directories) line.remove_suffix(1);
    rule.any_depth = !line.contains('/');
    if (line.starts_with('/')) line.remove_prefix(1);
    if (line.empty()) continue;
    auto pattern = PathWildcard::compile(line);
    if (!pattern) continue;
    rule.pattern = std::move(*pattern);
    rules_.push_back(std::move(rule));
  }
}

IgnoreRules::Verdict IgnoreRules::judge(std::string_view path, bool is_directory) const noexcept {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (rule->only_directories && !is_directory) continue;
    if (rule->pattern.matches(rule->any_depth ? name : path)) return rule->keeps ? Verdict::kept : Verdict::ignored;
  }
  return Verdict::none;
}

bool is_ignored(const IgnoreScope* scope, std::string_view path, bool is_directory) noexcept {
  for (; scope != nullptr; scope = scope->above.get()) {
    const auto verdict = scope->rules.judge(path.substr(scope->base), is_directory);
    if (verdict != IgnoreRules::Verdict::none) return verdict == IgnoreRules::Verdict::ignored;
  }
  return false;
}

std::shared_ptr<const IgnoreScope> read_ignore_scope(int directory, std::string_view path,
                                                     std::shared_ptr<const IgnoreScope> above) {
  // The rules of `.gitignore` override the repository's own rules, which therefore come first.
  std::string text = read_repository_rules(directory);
  if (!text.empty()) text += '\n';
  text += read_small_file(directory, ".gitignore");
  if (text.empty()) return above;
  IgnoreRules rules{text};
  if (rules.empty()) return above;
  return std::make_shared<const IgnoreScope>(std::move(above), std::move(rules), path.empty() ? 0 : path.size() + 1);
}

}  // namespace skiff::fs
