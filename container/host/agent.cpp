#include "container/host/agent.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <system_error>

#include "container/sandbox/dialects.hpp"
#include "container/sandbox/progress.hpp"

namespace skiff::container {
namespace {

namespace files = std::filesystem;

constexpr std::string_view kProgram = "skiffd";

constexpr std::array<std::string_view, 9> kInherited{"HOME", "LANG",   "LOGNAME", "PATH", "SHELL",
                                                     "TERM", "TMPDIR", "TZ",      "USER"};

constexpr std::size_t kLogEnd = 4096;
constexpr int kShownLines = 5;
constexpr std::string_view kAgentLoopback = "127.0.0.1";
constexpr std::string_view kListening = "skiffd listening on http://";
constexpr std::string_view kSpeaks = "skiffd speaks ";
/// Longest line that an agent may print about one address.
constexpr std::size_t kLongestAddressLine = 512;
constexpr std::size_t kShownOfLine = 200;

bool is_inherited(std::string_view name) {
  return name.starts_with("LC_") || std::ranges::count(kInherited, name) > 0;
}

bool is_program(const files::path& path) {
  std::error_code ignored;
  return files::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

/// A pair of sockets: a child writes to one of them, and this process reads from the other.
Result<std::pair<UniqueFd, UniqueFd>> output_socket() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return std::unexpected{system_error(errno, "create a socket pair")};
  }
  std::pair<UniqueFd, UniqueFd> pair{ends[0], ends[1]};
  ::fcntl(pair.first.get(), F_SETFL, O_NONBLOCK);
  return pair;
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
      FailureReason::no_agent, "skiffd is neither beside skiff (" + beside.string() +
                                   ") nor on PATH: put the two programs together, or install Debian's package skiffd")};
}

std::vector<std::string> agent_arguments(AgentPlace place, const HostRecord& record) {
  std::vector<std::string> argv{std::move(place.program),
                                "--listen",
                                std::move(place.listen),
                                "--root",
                                std::move(place.root),
                                "--sandbox-id",
                                record.id,
                                "--log-format",
                                "json",
                                "--log-level",
                                "warning"};
  const auto add_time = [&argv](std::string flag, const std::optional<HostRecord::Milliseconds>& time) {
    if (!time) return;
    argv.push_back(std::move(flag));
    argv.push_back(std::to_string(time->count()));
  };
  for (std::string& dialect : place.dialects) {
    argv.emplace_back("--dialect");
    argv.push_back(std::move(dialect));
  }
  if (!place.e2b_home.empty()) {
    argv.emplace_back("--e2b-home");
    argv.push_back(std::move(place.e2b_home));
  }
  add_time("--ttl", record.ttl);
  add_time("--idle-ttl", record.idle_ttl);
  return argv;
}

AgentPlace local_place(std::string skiffd, const HostRecord& record, const files::path& root) {
  AgentPlace place{.program = std::move(skiffd), .listen = std::string{kAgentLoopback} + ":0", .root = root.string()};
  for (const std::string& name : record.dialects) {
    place.dialects.push_back(dialect_setting(name, kAgentLoopback, PortNumbers::free));
  }
  return place;
}

std::vector<std::string> agent_environment(const char* const* ours, const HostRecord& record,
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
  for (const auto& [name, value] : merged) environment.emplace_back(name).append("=").append(value);
  return environment;
}

std::string sandbox_mark(std::string_view id) {
  return "SANDBOX_ID=" + std::string{id};
}

Result<StartedAgent> spawn_agent(Executor executor, std::string skiffd, const HostRecord& record,
                                 const HostRecords& records, const std::string& public_key) {
  SKIFF_TRY(auto output, output_socket());
  SKIFF_TRY(auto log_file, open_log(records.log(record.name)));
  const auto root = records.root(record.name);
  SKIFF_TRY(auto process, start_daemon({.argv = agent_arguments(local_place(std::move(skiffd), record, root), record),
                                        .environment = agent_environment(::environ, record, public_key),
                                        .directory = root,
                                        .output = output.second.get(),
                                        .errors = log_file.get(),
                                        .is_daemon = true}));
  return StartedAgent{std::move(process), protocol::Stream{executor, std::move(output.first), "skiffd"}};
}

Result<UniqueFd> open_log(const files::path& path) {
  UniqueFd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600)};
  if (!file) return std::unexpected{system_error(errno, "open \"" + path.string() + "\"")};
  return file;
}

Task<Result<std::string>> AgentLines::next() {
  std::array<char, 256> buffer{};
  std::size_t end = 0;
  while ((end = rest_.find('\n')) == std::string::npos) {
    if (rest_.size() >= kLongestAddressLine) {
      co_return fail(Errc::io_error, "it says \"" + rest_.substr(0, kShownOfLine) + "\"");
    }
    SKIFF_CO_TRY(auto got, co_await output_.read_some(buffer, limit_));
    if (got == 0) co_return fail(Errc::io_error, "it ended before it listened");
    rest_.append(buffer.data(), got);
  }
  std::string line = rest_.substr(0, end);
  rest_.erase(0, end + 1);
  co_return line;
}

Task<Result<std::vector<std::uint16_t>>> read_ports(protocol::Stream output, std::size_t count,
                                                    std::chrono::milliseconds limit) {
  AgentLines lines{std::move(output), limit};
  std::vector<std::uint16_t> ports;
  while (ports.size() < count) {
    SKIFF_CO_TRY(auto line, co_await lines.next());
    const std::size_t colon = line.rfind(':');
    std::uint16_t port = 0;
    if (line.starts_with(ports.empty() ? kListening : kSpeaks) && colon != std::string::npos) {
      std::from_chars(line.data() + colon + 1, line.data() + line.size(), port);
    }
    if (port == 0) co_return fail(Errc::io_error, "it says \"" + line.substr(0, kShownOfLine) + "\"");
    ports.push_back(port);
  }
  co_return ports;
}

std::vector<HostProcess> find_agents(const files::path& root) {
  return processes_with_argument(std::string{"--root"} + '\0' + root.string());
}

std::string log_end(const std::filesystem::path& path) {
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return {};
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  std::string text(kLogEnd, '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), std::max<off_t>(0, size - off_t{kLogEnd}));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::string last_lines(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  std::size_t begin = text.size();
  for (int line = 0; line < kShownLines && begin != std::string::npos && begin > 0; ++line) {
    begin = text.rfind('\n', begin - 1);
  }
  return begin == std::string::npos ? text : text.substr(text.empty() ? 0 : begin + 1);
}

}  // namespace skiff::container
