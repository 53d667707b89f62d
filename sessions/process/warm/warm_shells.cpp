#include "sessions/process/warm/warm_shells.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "base/log.hpp"
#include "sessions/process/warm/preload.hpp"
#include "sessions/process/warm/takeover.hpp"

namespace skiff::sessions {
namespace {

/// A client that uses more kinds at a time finds some of its shells cold.
constexpr std::size_t kMostKinds = 4;

/// What the dynamic linker and the C library read before the shell can be told its environment.
bool is_read_early(std::string_view variable) {
  return variable.starts_with("LD_") || variable.starts_with("GLIBC_TUNABLES=") || variable.starts_with("MALLOC_");
}

std::size_t size_of(const std::vector<std::string>& strings) {
  std::size_t size = 0;
  for (const std::string& one : strings) size += one.size() + 1;
  return size;
}

/// A hard limit above the own may be refused, and only a cold start can say so.
bool only_lowers(const std::vector<std::pair<int, rlimit>>& limits) {
  return std::ranges::all_of(limits, [](const auto& limit) {
    rlimit own{};
    return ::getrlimit(limit.first, &own) == 0 && limit.second.rlim_max <= own.rlim_max;
  });
}

/// Whether a shell that already runs can become what `request` asks for, exactly.
bool fits(const SpawnRequest& request) {
  return request.shell && !request.controlling_terminal && request.cgroup < 0 && !request.user &&
         !request.cwd.empty() && request.limits.size() <= Takeover::kMostLimits &&
         request.env.count() <= Takeover::kMostVariables && !request.env.any_of(is_read_early) &&
         sizeof(Takeover) + size_of(request.argv) + request.env.bytes().size() <= Takeover::kMostBytes &&
         only_lowers(request.limits);
}

/// Which program a path names at the moment.
struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  timespec changed{};

  static std::optional<Identity> of(const std::string& path) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) return std::nullopt;
    return Identity{info.st_dev, info.st_ino, info.st_ctim};
  }
  [[nodiscard]] bool operator==(const Identity& other) const noexcept {
    return device == other.device && inode == other.inode && changed.tv_sec == other.changed.tv_sec &&
           changed.tv_nsec == other.changed.tv_nsec;
  }
};

/// Its interpreter has a word more than it was given, by which it could not take a command over.
bool is_script(const std::string& program) {
  const UniqueFd file{::open(program.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  std::array<char, 2> first{};
  return file && ::read(file.get(), first.data(), first.size()) == 2 && first[0] == '#' && first[1] == '!';
}

/// Nobody may change what later shells execute: commands of the same user could open it through /proc.
UniqueFd library_file() {
  UniqueFd file{::memfd_create("skiff-wait", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  const std::string_view bytes = wait_library();
  if (!file || ::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    return UniqueFd{};
  }
  return file;
}

/// One message with everything that `request` says. False when the shell can't be reached.
bool tell(int socket, int directory, const SpawnRequest& request) {
  Takeover head;
  std::array<int, 1 + Takeover::kMostTargets> descriptors{directory};
  const auto give = [&](const UniqueFd& fd, int target) {
    if (!fd) return;
    head.targets[head.target_count++] = target;
    descriptors[head.target_count] = fd.get();
  };
  give(request.in, 0);
  give(request.out, 1);
  give(request.err, 2);
  for (const auto& [fd, target] : request.extra) give(fd, target);
  for (const auto& [resource, value] : request.limits) {
    head.limits[head.limit_count++] = {static_cast<std::uint64_t>(resource), value.rlim_cur, value.rlim_max};
  }
  std::string words;
  const std::string_view variables = request.env.bytes();
  head.words = request.argv.size();
  head.variables = request.env.count();
  head.word_bytes = size_of(request.argv);
  head.variable_bytes = variables.size();
  words.reserve(head.word_bytes);
  for (const std::string& one : request.argv) words.append(one).push_back('\0');

  std::array<iovec, 3> parts{iovec{&head, sizeof head}, iovec{words.data(), words.size()},
                             iovec{const_cast<char*>(variables.data()), variables.size()}};
  const std::size_t rights_size = (1 + head.target_count) * sizeof(int);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptors)> control{};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(rights_size);
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(rights_size);
  std::memcpy(CMSG_DATA(rights), descriptors.data(), rights_size);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(sizeof head + words.size() + variables.size());
}

/// Before it is told anything, so that whoever ends the command from now on finds it.
bool mark(pid_t pid, Tag tag) {
  const rlimit value{tag, tag};
  return ::prlimit(pid, RLIMIT_RTTIME, &value, nullptr) == 0;
}

/// Every limit of a process, as text; empty when it is gone.
std::string limits_of(pid_t pid) {
  const UniqueFd file{::open(("/proc/" + std::to_string(pid) + "/limits").c_str(), O_RDONLY | O_CLOEXEC)};
  std::string text(4096, '\0');
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : 0;
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

/// It says so in one byte, once.
bool says_that_it_waits(int socket) {
  char byte = 0;
  return ::recv(socket, &byte, 1, MSG_DONTWAIT) == 1;
}

/// It closes its end of the socket when it begins with its command.
bool has_begun(int socket) {
  char byte = 0;
  return ::recv(socket, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

SpawnFailure told(const TakeoverFailure& failure) {
  const auto words = [&failure]() -> std::pair<std::string_view, std::string_view> {
    switch (failure.step) {
      case TakeoverFailure::Step::directory:
        return {"chdir", "enter the working directory"};
      case TakeoverFailure::Step::descriptors:
        return {"descriptors", "pass descriptors"};
      case TakeoverFailure::Step::limits:
        return {"limits", "set resource limits"};
      case TakeoverFailure::Step::message:
      case TakeoverFailure::Step::memory:
        break;
    }
    return {"exec", "take arguments and environment"};
  };
  const auto [stage, attempted] = words();
  return {.stage = stage,
          .error = failure.error,
          .message = std::string{attempted} + " in a shell that had waited for it: " + errno_text(failure.error)};
}

}  // namespace

struct WarmShells::Shell {
  pid_t pid = 0;
  UniqueFd socket;
  std::optional<Identity> program;  ///< what it was when this was started
  std::string limits = {};          ///< as it was started with
  bool waits = false;
};

/// What the same shells can serve.
struct WarmShells::Kind {
  std::string program;
  std::size_t words = 0;  ///< of argv: their number can't be changed any more
  std::shared_ptr<const Ruleset> rules;
  std::vector<Shell> shells;
  std::size_t starting = 0;
  bool unfit = false;  ///< one of them did not get as far as waiting: a static program, a kernel that refuses
};

WarmShells::WarmShells(Executor executor, Spawner& spawner, Reaper& reaper, std::size_t each, Times times)
    : executor_{executor},
      spawner_{spawner},
      reaper_{reaper},
      each_{each},
      times_{times},
      changed_{executor},
      quiet_{executor, [this] { refill(); }},
      idle_{executor, [this] { let_all_go(); }},
      tasks_{executor} {}

WarmShells::~WarmShells() = default;

WarmShells::Kind* WarmShells::kind_of(const SpawnRequest& request) {
  const auto found = std::ranges::find_if(kinds_, [&](const auto& kind) {
    return kind->program == request.argv.front() && kind->words == request.argv.size() &&
           kind->rules == request.ruleset;
  });
  if (found != kinds_.end()) {
    std::rotate(kinds_.begin(), found, found + 1);
    return kinds_.front().get();
  }
  if (kinds_.size() == kMostKinds) {
    let_go(*kinds_.back());
    kinds_.pop_back();
  }
  auto kind = std::make_shared<Kind>();
  kind->program = request.argv.front();
  kind->unfit = is_script(kind->program);
  kind->words = request.argv.size();
  kind->rules = request.ruleset;
  kinds_.insert(kinds_.begin(), std::move(kind));
  return kinds_.front().get();
}

std::optional<pid_t> WarmShells::start(const SpawnRequest& request, Reaper::Handler& ended,
                                       std::shared_ptr<Leader> leader) {
  if (each_ == 0 || closed_) return std::nullopt;
  std::erase_if(handed_over_, [](const HandedOver& one) { return has_begun(one.socket.get()); });
  quiet_.expires_after(times_.quiet);
  if (!fits(request)) return std::nullopt;
  Kind& kind = *kind_of(request);
  if (kind.unfit) return std::nullopt;
  idle_.expires_after(times_.idle);
  const auto ready = std::ranges::find_if(
      kind.shells, [](Shell& shell) { return shell.waits || (shell.waits = says_that_it_waits(shell.socket.get())); });
  if (ready == kind.shells.end()) return std::nullopt;
  if (Identity::of(kind.program) != ready->program) {
    // The path names another program since: those that wait are the one that was there before.
    let_go(kind);
    return std::nullopt;
  }
  // The dot has the kernel check what chdir(2) would: a directory that may not be entered is told by the cold start.
  const UniqueFd directory{::open((request.cwd + "/.").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!directory) return std::nullopt;
  const pid_t pid = ready->pid;
  // A process of the same user may have stopped it, which nothing shows.
  ::kill(pid, SIGCONT);
  // Or set its limits (prlimit(2)).
  if (limits_of(pid) != ready->limits || !mark(pid, request.tag) ||
      !tell(ready->socket.get(), directory.get(), request)) {
    // It may carry the command's tag, which is another process's now, or is out of reach: no later one is to try it.
    ::kill(pid, SIGKILL);
    kind.shells.erase(ready);
    return std::nullopt;
  }
  handed_over_.emplace_back(pid, std::move(ready->socket));
  kind.shells.erase(ready);
  --children_;
  auto tell_end = [this, pid, ended = std::move(ended)](const Reaped& reaped) mutable {
    Reaped complete = reaped;
    complete.failure = take_failure(pid);
    ended(complete);
  };
  reaper_.hand_over(pid, std::move(tell_end), std::move(leader));
  return pid;
}

std::optional<SpawnFailure> WarmShells::take_failure(pid_t pid) {
  const auto found = std::ranges::find(handed_over_, pid, &HandedOver::pid);
  if (found == handed_over_.end()) return std::nullopt;
  const UniqueFd socket = std::move(found->socket);
  handed_over_.erase(found);
  TakeoverFailure failure;
  if (::recv(socket.get(), &failure, sizeof failure, MSG_DONTWAIT) != sizeof failure) return std::nullopt;
  return told(failure);
}

void WarmShells::refill() {
  if (closed_) return;
  for (const auto& kind : kinds_) {
    if (kind->unfit || kind->starting + kind->shells.size() >= each_) continue;
    tasks_.spawn("warm shell", add(kind));
    return;  // one at a time: the next one when this one is there
  }
}

Task<> WarmShells::add(std::shared_ptr<Kind> kind) {
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  if (!library_) library_ = library_file();
  int sockets[2];
  if (!library_ || ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) co_return;
  // Looked at before it is started, and after: what comes between is seen as a change.
  Shell shell{.socket = UniqueFd{sockets[0]}, .program = Identity::of(kind->program)};
  UniqueFd theirs{sockets[1]};
  UniqueFd library{::fcntl(library_.get(), F_DUPFD_CLOEXEC, 0)};

  SpawnRequest request;
  // What it would run if it did not wait: nothing.
  request.argv = {kind->program, "-c", "exit 126"};
  request.argv.resize(kind->words, "exit 126");
  // Room for the command's own variables in the list that the kernel makes. An empty one means nothing to anybody.
  for (std::size_t i = 0; i < Takeover::kMostVariables; ++i) request.env.add({});
  request.env.add("LD_PRELOAD=/proc/self/fd/" + std::to_string(Takeover::kLibraryFd));
  request.extra.emplace_back(std::move(library), Takeover::kLibraryFd);
  request.extra.emplace_back(std::move(theirs), Takeover::kSocketFd);
  request.cwd = "/";
  request.ruleset = kind->rules;
  const AnnouncedSpawn announced = reaper_.begin_spawn();
  request.announced = announced;
  ++kind->starting;
  auto pid = co_await spawner_.spawn(std::move(request));
  --kind->starting;
  if (!pid) {
    reaper_.conclude_spawn(announced);
    kind->unfit = true;
    co_return;
  }
  shell.pid = *pid;
  shell.limits = limits_of(*pid);
  ++children_;
  reaper_.conclude_spawn(announced, *pid, [this, weak = std::weak_ptr{kind}, pid = *pid](const Reaped&) {
    --children_;
    changed_.notify_all();
    const auto mine = weak.lock();
    if (!mine) return;
    const auto found = std::ranges::find(mine->shells, pid, &Shell::pid);
    if (found == mine->shells.end()) return;
    if (!found->waits && !says_that_it_waits(found->socket.get())) mine->unfit = true;
    mine->shells.erase(found);
  });
  const bool replaced = Identity::of(kind->program) != shell.program;
  kind->shells.push_back(std::move(shell));
  // Whoever has let the kind go meanwhile did not see this one.
  if (replaced || closed_ || std::ranges::find(kinds_, kind) == kinds_.end()) let_go(*kind);
  if (!closed_) quiet_.expires_after(times_.quiet);
}

void WarmShells::let_go(Kind& kind) {
  // The reaper has not told their ends yet, so the pids are theirs.
  for (const Shell& shell : kind.shells) ::kill(shell.pid, SIGKILL);
  kind.shells.clear();
}

void WarmShells::let_all_go() {
  for (const auto& kind : kinds_) let_go(*kind);
  kinds_.clear();
  quiet_.clear();
}

void WarmShells::forget(const std::shared_ptr<const Ruleset>& rules) {
  if (!rules) return;
  std::erase_if(kinds_, [&](const std::shared_ptr<Kind>& kind) {
    if (kind->rules != rules) return false;
    let_go(*kind);
    return true;
  });
}

Task<> WarmShells::close() {
  closed_ = true;
  let_all_go();
  co_await tasks_.join();
  while (children_ > 0) co_await changed_.wait();
}

std::size_t WarmShells::waiting() const noexcept {
  std::size_t count = 0;
  for (const auto& kind : kinds_) count += kind->shells.size();
  return count;
}

}  // namespace skiff::sessions
