#include "sessions/spawn/spawn.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <mutex>
#include <string_view>

#include "base/async/deliberate_wait.hpp"
#include "base/error.hpp"
#include "sessions/spawn/launch.hpp"
#include "sessions/spawn/terminal_name.hpp"

namespace skiff::sessions {
namespace {

/// The search path when PATH is not set: that of sh and execvp(3), and other directories that images use.
constexpr std::string_view kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string_view path_of(const SpawnRequest& request) {
  std::string_view path = kDefaultPath;
  (void)request.env.any_of([&path](std::string_view variable) {
    const bool found = variable.starts_with("PATH=");
    if (found) path = variable.substr(5);
    return found;
  });
  return path;
}

/// The paths that a start looks up, for `LocalPaths`.
std::string places_of(const SpawnRequest& request, const std::string& program) {
  std::string places = request.cwd + ':';
  return places += program.find('/') == std::string::npos ? path_of(request) : std::string_view{program};
}

std::vector<std::string> candidates_of(const SpawnRequest& request) {
  const std::string& name = request.argv.front();
  if (name.empty()) return {};
  if (name.find('/') != std::string::npos) return {name};
  std::string_view path = path_of(request);
  std::vector<std::string> found;
  for (;;) {
    const std::size_t end = std::min(path.find(':'), path.size());
    const std::string_view directory = path.substr(0, end);
    // An empty part of PATH means the working directory.
    found.push_back(directory.empty() ? name : std::string{directory} + '/' + name);
    if (end == path.size()) return found;
    path.remove_prefix(end + 1);
  }
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& one : strings) pointers.push_back(const_cast<char*>(one.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// True when the agent already runs as `user`, so that no switch, and no privilege, is needed.
bool is_own(const Credentials& user) {
  if (user.uid != ::geteuid() || user.gid != ::getegid()) return false;
  if (user.uid != 0) return true;
  std::vector<gid_t> own(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
  own.resize(static_cast<std::size_t>(std::max(::getgroups(static_cast<int>(own.size()), own.data()), 0)));
  return own == user.groups;
}

std::string_view word(LaunchStage stage) {
  switch (stage) {
    case LaunchStage::descriptors:
      return "descriptors";
    case LaunchStage::clone:
      return "clone";
    case LaunchStage::cgroup:
      return "cgroup";
    case LaunchStage::isolation:
      return "isolation";
    case LaunchStage::signals:
      return "signals";
    case LaunchStage::session:
      return "session";
    case LaunchStage::terminal:
      return "terminal";
    case LaunchStage::limits:
      return "limits";
    case LaunchStage::user:
      return "user";
    case LaunchStage::chdir:
      return "chdir";
    case LaunchStage::exec:
      return "exec";
  }
  return "exec";
}

std::string attempted(LaunchStage stage, const SpawnRequest& request) {
  switch (stage) {
    case LaunchStage::chdir:
      return "chdir \"" + request.cwd + "\"";
    case LaunchStage::exec:
      return "exec \"" + (request.argv.empty() ? std::string{} : request.argv.front()) + "\"";
    case LaunchStage::user:
      return "switch to user \"" + request.user->name + "\"";
    case LaunchStage::terminal:
      return "take the controlling terminal";
    case LaunchStage::limits:
      return "set resource limits";
    case LaunchStage::clone:
      return "make a process";
    case LaunchStage::descriptors:
      return "pass descriptors";
    case LaunchStage::cgroup:
      return "enter its cgroup";
    case LaunchStage::isolation:
      return "put the isolation on";
    case LaunchStage::signals:
      return "reset signals";
    case LaunchStage::session:
      return "start a session";
  }
  return std::string{word(stage)};
}

/// A note for the message if the program exists: the kernel reports ENOENT also when its interpreter or its loader is
/// missing.
std::string_view missing_interpreter(const Launched& launched, const SpawnRequest& request,
                                     const std::vector<std::string>& candidates) {
  const auto is_file = [&](const std::string& one) {
    return ::access((one.starts_with('/') ? one : request.cwd + '/' + one).c_str(), F_OK) == 0;
  };
  const bool is_there =
      launched.stage == LaunchStage::exec && launched.error == ENOENT && std::ranges::any_of(candidates, is_file);
  return is_there ? " (it exists: the interpreter that its first line names, or its loader, is missing)" : "";
}

std::unexpected<SpawnFailure> failed(LaunchStage stage, int error, const SpawnRequest& request) {
  return std::unexpected{SpawnFailure{word(stage), error, attempted(stage, request) + ": " + errno_text(error)}};
}

/// Creates a file in memory for the child to read; empty, with errno, on failure.
UniqueFd memory_file(const std::string& text) {
  UniqueFd file{::memfd_create("skiff-script", MFD_CLOEXEC)};
  for (std::size_t done = 0; file && done < text.size();) {
    const ssize_t wrote = ::write(file.get(), text.data() + done, text.size() - done);
    if (wrote < 0) return {};
    done += static_cast<std::size_t>(wrote);
  }
  if (file) ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

/// Raises the OOM score, so that the OOM killer prefers commands to the agent. Best effort. The agent writes it,
/// because the child cannot while it shares the agent's undumpable memory (proc(5)). The child may have ended since
/// exec, but its pid is not reused: the announcement keeps it from being reaped.
void raise_oom_score(pid_t pid) {
  // The agent's own score does not change after its start.
  static const int score = [] {
    const UniqueFd file{::open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC)};
    char text[16];
    const ssize_t size = file ? ::read(file.get(), text, sizeof text) : 0;
    int own = 0;
    if (size > 0) std::from_chars(text, text + size, own);
    return std::min(own + 500, 1000);
  }();
  char path[40];
  char* end = std::ranges::copy(std::string_view{"/proc/"}, path).out;
  end = std::to_chars(end, path + 24, pid).ptr;
  *std::ranges::copy(std::string_view{"/oom_score_adj"}, end).out = '\0';
  const UniqueFd file{::open(path, O_WRONLY | O_CLOEXEC)};
  if (!file) return;
  char text[16];
  const auto written = std::to_chars(text, text + sizeof text, score);
  if (::write(file.get(), text, static_cast<std::size_t>(written.ptr - text)) < 0) return;
}

std::expected<pid_t, SpawnFailure> spawn_from(LaunchPad& pad, const SpawnRequest& request) {
  if (request.argv.empty()) return failed(LaunchStage::exec, ENOENT, request);
  // Prepare everything that the child reads: it may not allocate.
  const std::vector<std::string> paths = candidates_of(request);
  std::vector<const char*> candidates;
  for (const std::string& path : paths) candidates.push_back(path.c_str());
  candidates.push_back(nullptr);
  const std::vector<char*> argv = pointers_to(request.argv);
  std::vector<const char*> envp = request.env.pointers();
  if (request.controlling_terminal) name_terminal(envp);
  static char shell[] = "/bin/sh";
  std::vector<char*> shell_argv{shell, nullptr};
  shell_argv.insert(shell_argv.end(), argv.begin() + 1, argv.end());

  LaunchPlan plan;
  plan.descriptors = {request.in.get(), request.out.get(), request.err.get()};
  if (request.texts.size() + request.extra.size() > kMostExtraDescriptors) {
    return failed(LaunchStage::descriptors, EINVAL, request);
  }
  std::vector<UniqueFd> files;
  for (const auto& [target, text] : request.texts) {
    files.push_back(memory_file(text));
    const int error = errno;
    if (!files.back())
      return std::unexpected{SpawnFailure{"script", error, "make a file for the script: " + errno_text(error)}};
    plan.extra[plan.extra_count++] = {files.back().get(), target};
  }
  for (const auto& [source, target] : request.extra) plan.extra[plan.extra_count++] = {source.get(), target};
  plan.controlling_terminal = request.controlling_terminal;
  plan.cgroup = request.cgroup;
  plan.ruleset = request.ruleset ? request.ruleset->fd() : -1;
  plan.tag = request.tag;
  plan.limits = request.limits.data();
  plan.limit_count = request.limits.size();
  static const int own_priority = ::getpriority(PRIO_PROCESS, 0);
  plan.priority = std::min(own_priority + request.nice, 19);
  if (request.user && !is_own(*request.user)) {
    plan.switch_user = true;
    plan.uid = request.user->uid;
    plan.gid = request.user->gid;
    plan.groups = request.user->groups.data();
    plan.group_count = request.user->groups.size();
  }
  plan.cwd = request.cwd.empty() ? nullptr : request.cwd.c_str();
  plan.candidates = candidates.data();
  plan.argv = argv.data();
  plan.envp = envp.data();
  plan.shell_argv = shell_argv.data();

  if (request.announced && request.announced->load() == kGivenUp) return failed(LaunchStage::clone, ECANCELED, request);
  const Launched launched = pad.launch(plan, request.announced.get());
  if (launched.error != 0) {
    // An announced child is reaped by the reaper, as an orphan.
    if (launched.pid > 0 && !request.announced) ::waitpid(launched.pid, nullptr, 0);
    auto failure = failed(launched.stage, launched.error, request);
    failure.error().message += missing_interpreter(launched, request, paths);
    return failure;
  }
  raise_oom_score(launched.pid);
  return launched.pid;
}

}  // namespace

/// One launch pad for each thread, including the reactor's, created at the start while low descriptor numbers are free.
struct Spawner::Pads {
  explicit Pads(std::size_t count) {
    const std::uint64_t not_default = signals_not_default();
    for (std::size_t i = 0; i <= count; ++i) free.push_back(std::make_unique<LaunchPad>(not_default));
  }
  std::unique_ptr<LaunchPad> take() {
    const std::lock_guard lock{mutex};
    auto pad = std::move(free.back());
    free.pop_back();
    return pad;
  }
  void give_back(std::unique_ptr<LaunchPad> pad) {
    const std::lock_guard lock{mutex};
    free.push_back(std::move(pad));
  }
  std::mutex mutex;
  std::vector<std::unique_ptr<LaunchPad>> free;
};

Spawner::Spawner(std::size_t threads) : pads_{std::make_unique<Pads>(threads)}, pool_{"skiff-spawn", threads} {}

Spawner::~Spawner() = default;

Task<std::expected<pid_t, SpawnFailure>> Spawner::spawn(SpawnRequest request, bool alone) {
  std::chrono::steady_clock::duration time{};
  auto work = [this, &request, &time] {
    const auto begun = std::chrono::steady_clock::now();
    auto pad = pads_->take();
    auto result = spawn_from(*pad, request);
    pads_->give_back(std::move(pad));
    time = std::chrono::steady_clock::now() - begun;
    return result;
  };
  const std::string program = request.argv.empty() ? std::string{} : request.argv.front();
  std::expected<pid_t, SpawnFailure> result;
  const std::string places = alone ? places_of(request, program) : std::string{};
  const bool known = alone && local_.knows(places);
  if (known && quick_.expects(program)) {
    const DeliberateWait on_purpose;
    result = work();
  } else {
    bool local = false;
    auto there = [&] {
      auto outcome = work();
      local = alone && !known && LocalPaths::are_local(places);
      return outcome;
    };
    result = co_await pool_.run(std::move(there));
    if (local) local_.note(places);
  }
  quick_.note(program, time);
  co_return result;
}

std::expected<pid_t, SpawnFailure> Spawner::spawn_here(const SpawnRequest& request) {
  thread_local LaunchPad pad;
  return spawn_from(pad, request);
}

}  // namespace skiff::sessions
