#include "container/launcher/local_agent.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <system_error>

#include "container/launcher/progress.hpp"

namespace skiff::container {
namespace {

namespace files = std::filesystem;

constexpr std::string_view kProgram = "skiffd";

constexpr std::array<std::string_view, 9> kInherited{"HOME", "LANG",   "LOGNAME", "PATH", "SHELL",
                                                     "TERM", "TMPDIR", "TZ",      "USER"};

bool is_inherited(std::string_view name) {
  return name.starts_with("LC_") || std::ranges::count(kInherited, name) > 0;
}

bool is_program(const files::path& path) {
  std::error_code ignored;
  return files::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<std::string> find_skiffd() {
  std::error_code error;
  const files::path self = files::read_symlink("/proc/self/exe", error);
  const files::path beside = self.parent_path() / kProgram;
  if (!error && is_program(beside)) return beside.string();
  const char* path = std::getenv("PATH");
  std::string_view rest{path != nullptr ? path : ""};
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const files::path candidate = files::path{rest.substr(0, colon)} / kProgram;
    if (candidate.is_absolute() && is_program(candidate)) return candidate.string();
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return std::unexpected{bring_up_failure(
      FailureReason::no_agent,
      "skiffd is neither beside skiff (" + beside.string() + ") nor on PATH: put the two programs together")};
}

std::vector<std::string> agent_arguments(std::string skiffd, const LocalRecord& record, const files::path& root) {
  std::vector<std::string> argv{std::move(skiffd), "--listen", "127.0.0.1:0",  "--root", root.string(),
                                "--sandbox-id",    record.id,  "--log-format", "json",   "--log-level",
                                "warning"};
  const auto add_time = [&argv](std::string flag, const std::optional<LocalRecord::Milliseconds>& time) {
    if (!time) return;
    argv.push_back(std::move(flag));
    argv.push_back(std::to_string(time->count()));
  };
  add_time("--ttl", record.ttl);
  add_time("--idle-ttl", record.idle_ttl);
  return argv;
}

std::vector<std::string> agent_environment(const char* const* ours, const LocalRecord& record,
                                           const std::string& public_key) {
  std::map<std::string, std::string> merged;
  for (; *ours != nullptr; ++ours) {
    const std::string_view entry{*ours};
    const std::size_t equals = std::min(entry.find('='), entry.size());
    const std::string_view name = entry.substr(0, equals);
    if (equals < entry.size() && is_inherited(name)) merged[std::string{name}] = entry.substr(equals + 1);
  }
  for (const auto& [name, value] : record.env) merged[name] = value;
  merged["SKIFF_PUBLIC_KEY"] = public_key;
  std::vector<std::string> environment{sandbox_mark(record.id)};
  for (const auto& [name, value] : merged) environment.push_back(name + "=" + value);
  return environment;
}

std::string sandbox_mark(std::string_view id) {
  return "SANDBOX_ID=" + std::string{id};
}

}  // namespace skiff::container
