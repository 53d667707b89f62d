#include "sessions/spawn/reaper.hpp"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <unordered_map>
#include <vector>

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>

#include "base/log/log.hpp"
#include "base/unique_fd.hpp"

namespace skiff::sessions {
namespace asio = boost::asio;

namespace {

/// Children reaped in one turn of the reactor, so that a storm of orphans does not block other work.
constexpr int kOneTurn = 128;

int signal_descriptor() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  // If SIGCHLD were inherited as ignored (a shell's trap '' CHLD), the kernel would discard the children's exits
  // (waitpid(2)).
  if (::signal(SIGCHLD, SIG_DFL) == SIG_ERR)
    throw boost::system::system_error{errno, boost::system::system_category(), "signal"};
  const int fd = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) throw boost::system::system_error{errno, boost::system::system_category(), "signalfd"};
  return fd;
}

}  // namespace

struct Reaper::State : std::enable_shared_from_this<Reaper::State> {
  explicit State(Executor on) : executor{on}, signals{on, signal_descriptor()} {}

  Executor executor;
  asio::posix::basic_stream_descriptor<Executor> signals;
  std::vector<AnnouncedSpawn> announced;
  struct Child {
    Handler ended;
    std::shared_ptr<Leader> leader;
  };
  std::unordered_map<pid_t, Child> tracked;
  std::uint64_t orphans = 0;
  bool sweep_posted = false;
  bool held_up = false;  ///< the last sweep stopped at a zombie whose spawn is not concluded
  bool closed = false;

  void listen() {
    signals.async_wait(asio::posix::descriptor_base::wait_read,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                         if (error || self->closed) return;
                         // Read before the sweep: a child that ends later makes the descriptor readable again.
                         signalfd_siginfo info;
                         while (::read(self->signals.native_handle(), &info, sizeof info) > 0) {
                         }
                         self->sweep();
                         if (!self->closed) self->listen();
                       });
  }

  void post_sweep() {
    if (std::exchange(sweep_posted, true)) return;
    asio::post(executor, [self = shared_from_this()] {
      self->sweep_posted = false;
      self->sweep();
    });
  }

  void sweep() {
    const auto self = shared_from_this();
    held_up = false;
    for (int taken = 0; !closed; ++taken) {
      // Look without reaping: until its owner is called, a child stays a zombie, so its pid is not reused.
      siginfo_t info{};
      if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
        if (errno == EINTR) continue;
        return;
      }
      const pid_t pid = info.si_pid;
      if (pid == 0) return;
      if (!tracked.contains(pid) && is_announced(pid)) {
        // The kernel would return this child again and again. Its spawn has finished, so its conclusion will run soon.
        held_up = true;
        return;
      }
      if (taken == kOneTurn) {
        post_sweep();
        return;
      }
      take(pid);
    }
  }

  [[nodiscard]] bool is_announced(pid_t pid) const {
    return std::ranges::any_of(announced, [pid](const AnnouncedSpawn& one) { return one->load() == pid; });
  }

  void take(pid_t pid) {
    Reaped reaped{.pid = pid};
    const auto known = tracked.find(pid);
    Leader* const leader = known == tracked.end() ? nullptr : known->second.leader.get();
    if (leader != nullptr) leader->number = Leader::Number::changing;
    // __WALL is not needed: exec makes every child signal its end with SIGCHLD.
    const bool taken = ::wait4(pid, &reaped.status, WNOHANG, &reaped.usage) == pid;
    if (leader != nullptr) leader->number = taken ? Leader::Number::free : Leader::Number::its_own;
    if (!taken) return;
    if (known == tracked.end()) {
      ++orphans;
      return;
    }
    tracked.extract(known).mapped().ended(reaped);
  }

  void conclude(const AnnouncedSpawn& spawn) {
    std::erase(announced, spawn);
    if (held_up) post_sweep();
  }
};

Reaper::Reaper(Executor executor) : state_{std::make_shared<State>(executor)} {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
    log::warning("cannot become a subreaper: daemons of commands will not become children of the agent");
  state_->listen();
}

Reaper::~Reaper() {
  state_->closed = true;
  state_->tracked.clear();
  boost::system::error_code ignored;
  state_->signals.close(ignored);
}

AnnouncedSpawn Reaper::begin_spawn() {
  return state_->announced.emplace_back(std::make_shared<std::atomic<pid_t>>(0));
}

void Reaper::conclude_spawn(const AnnouncedSpawn& spawn, pid_t pid, Handler ended, std::shared_ptr<Leader> leader) {
  if (spawn->load() != pid) {
    // The child could have been reaped as an orphan, which no test would reliably show.
    log::error("a spawn was announced but SpawnRequest::announced was not set");
    log::flush();
    std::abort();
  }
  if (leader) leader->pid = pid;
  state_->tracked.emplace(pid, State::Child{std::move(ended), std::move(leader)});
  state_->conclude(spawn);
}

void Reaper::hand_over(pid_t pid, Handler ended, std::shared_ptr<Leader> leader) {
  if (leader) leader->pid = pid;
  state_->tracked.insert_or_assign(pid, State::Child{std::move(ended), std::move(leader)});
}

void Reaper::conclude_spawn(const AnnouncedSpawn& spawn) {
  state_->conclude(spawn);
}

std::uint64_t Reaper::orphans_reaped() const noexcept {
  return state_->orphans;
}

}  // namespace skiff::sessions
