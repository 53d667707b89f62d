#include "container/drivers/box/enter.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"
#include "container/drivers/box/confine.hpp"
#include "container/drivers/box/handover.hpp"
#include "container/drivers/box/mounts.hpp"
#include "container/drivers/box/network/links.hpp"
#include "container/drivers/box/network/pasta.hpp"
#include "container/drivers/box/plan.hpp"
#include "container/drivers/box/report.hpp"
#include "protocol/net/address.hpp"

namespace skiff::container::box {
namespace {

/// The first descriptor that skiffd inherits.
constexpr int kFirstListener = 3;
constexpr int kMostPending = 128;

constexpr std::uint64_t kNewNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | CLONE_NEWCGROUP;

/// Returns as fork(2) does. `more` are flags of clone(2).
pid_t clone_box(std::uint64_t more) {
  const std::uint64_t flags = kNewNamespaces | more;
  clone_args arguments{};
  arguments.flags = flags;
  // With CLONE_PARENT our own holds.
  arguments.exit_signal = (more & CLONE_PARENT) != 0 ? 0 : SIGCHLD;
  long child = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  // Filters of container runtimes hide clone3 (ENOSYS), and then have their say about clone.
  if (child < 0 && errno == ENOSYS) child = ::syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
  return static_cast<pid_t>(child);
}

void write_map(const std::string& process, const char* name, const std::string& text) {
  const std::string path = "/proc/" + process + "/" + name;
  const UniqueFd file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    refuse(Step::map, name);
  }
}

/// The box is created in the groups of its creator.
void enter_groups(const Plan& plan) {
  for (const std::string& group : plan.groups) {
    const UniqueFd processes{::open((group + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC)};
    if (!processes || ::write(processes.get(), "0", 1) != 1) refuse(Step::group, group);
  }
}

/// Maps the user of the box to the user of its creator.
void write_maps(const std::string& process, std::uint32_t user, std::uint32_t group) {
  const auto line = [](std::uint32_t outer) { return std::to_string(kInnerId) + " " + std::to_string(outer) + " 1"; };
  write_map(process, "setgroups", "deny");
  write_map(process, "gid_map", line(group));
  write_map(process, "uid_map", line(user));
}

/// As root: the box gets an id that no user has, so that nothing on this machine is its own but its files.
void become(const Plan& plan) {
  if (::setgroups(0, nullptr) != 0 || ::setresgid(plan.group, plan.group, plan.group) != 0 ||
      ::setresuid(plan.user, plan.user, plan.user) != 0) {
    refuse(Step::user);
  }
  // Files in /proc of a process that has changed its user belong to root otherwise, and we write the maps of a child.
  if (::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) refuse(Step::user, "dumpable");
}

void set_loopback_up() {
  const UniqueFd socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", sizeof "lo");
  request.ifr_flags = IFF_UP;
  if (!socket || ::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) refuse(Step::loopback);
}

/// Gives the launcher the socket of the egress proxy. That is of the box's own network, so nothing else reaches it.
void give_proxy_socket() {
  const auto address = protocol::Address::parse(kProxyAddress);
  const UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  // It listens from the start: nobody in the box can take the address.
  if (!address || !socket || ::bind(socket.get(), address->data(), address->size()) != 0 ||
      ::listen(socket.get(), kMostPending) != 0 || !send_back(STDIN_FILENO, socket)) {
    refuse(Step::loopback, kProxyAddress);
  }
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// Gives skiffd its descriptors from `kFirstListener` on, and closes all others but the standard ones.
void arrange_descriptors(std::vector<UniqueFd>& listeners) {
  constexpr int kBeyond = 256;
  for (UniqueFd& listener : listeners) {
    listener.reset(::fcntl(listener.get(), F_DUPFD, kBeyond));
    if (!listener) refuse(Step::exec, "descriptors");
  }
  int number = kFirstListener;
  for (const UniqueFd& listener : listeners) {
    if (::dup2(listener.get(), number++) < 0) refuse(Step::exec, "descriptors");
  }
  const UniqueFd null{::open("/dev/null", O_RDONLY)};
  if (!null || ::dup2(null.get(), STDIN_FILENO) < 0) refuse(Step::exec, "/dev/null");
  for (UniqueFd& listener : listeners) listener.reset();
  if (::close_range(static_cast<unsigned>(number), ~0U, 0) != 0) refuse(Step::exec, "close_range");
}

/// True if the launcher still reads what we report.
bool has_launcher() {
  pollfd out{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return ::poll(&out, 1, 0) == 0;
}

/// Waits for the end of the box, and of what became our child as process 1 of pasta's namespace.
int wait_for(pid_t box) {
  int status = 0;
  for (pid_t ended = 0; ended != box;) {
    ended = ::wait(&status);
    if (ended < 0 && errno != EINTR) return 1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/// Process 1 of the box, with all rights over its namespaces and none elsewhere.
[[noreturn]] void run_box(Handover& given, Trees trees, bool has_trees) {
  note_label();
  ::setsid();
  ::umask(022);
  Plan& plan = given.plan;
  if (::sethostname(plan.hostname.data(), plan.hostname.size()) != 0) refuse(Step::hostname);
  set_loopback_up();
  if (plan.egress) give_proxy_socket();
  if (!plan.barred.empty()) set_up_link();
  if (!has_trees) trees = open_trees(plan, false);
  build_root(plan, trees);
  trees = {};
  leave_keyring();
  if (!set_limits(plan.processes)) refuse(Step::limits, "resource limits");
  // From now on whoever connects to the box learns its process (SO_PEERCRED), also when its launcher was killed.
  for (const UniqueFd& listener : given.listeners) {
    if (::listen(listener.get(), kMostPending) != 0) refuse(Step::exec, "listen");
  }
  if (!drop_privileges()) refuse(Step::privileges);
  if (!restrict_files()) refuse(Step::landlock);
  if (plan.argv.empty()) {
    if (!filter_calls()) refuse(Step::filter);
    report(std::string{kPassedLine});
    ::_exit(0);
  }
  if (::chdir(kWorkspace.data()) != 0) refuse(Step::exec, std::string{kWorkspace});
  std::vector<char*> argv = pointers(plan.argv);
  std::vector<char*> environment = pointers(plan.environment);
  if (!has_launcher()) ::_exit(1);
  arrange_descriptors(given.listeners);
  if (!filter_calls()) refuse(Step::filter);
  ::execve(argv.front(), argv.data(), environment.data());
  refuse(Step::exec, plan.argv.front());
}

}  // namespace

int enter() {
  auto received = receive_handover(STDIN_FILENO);
  if (!received) {
    errno = EBADMSG;
    refuse(Step::plan);
  }
  const Plan& plan = received->plan;
  // pasta runs this program again, in a user namespace whose root is the user of the box.
  const bool is_behind_pasta = plan.pasta.empty() && !plan.barred.empty();
  const bool is_root = !is_behind_pasta && plan.user != ::geteuid();
  Trees trees;
  if (!received->trees.empty()) trees = from_list(plan, std::move(received->trees));
  if (!is_behind_pasta) enter_groups(plan);
  if (is_root) {
    trees = open_trees(plan, true);
    become(plan);
  }
  if (!plan.pasta.empty()) {
    if (is_root) received->trees = to_list(std::move(trees));
    run_pasta(std::move(*received));
  }
  const bool has_trees = !trees.devices.empty();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) refuse(Step::clone, "pipe");
  UniqueFd reader{ends[0]};
  UniqueFd writer{ends[1]};
  // The box ends with pasta.
  if (is_behind_pasta && ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) refuse(Step::network, "parent");
  const std::uint32_t user = ::geteuid();
  const std::uint32_t group = ::getegid();
  // Without pasta the box is a child of our parent, which waits for it.
  const pid_t child = clone_box(is_behind_pasta ? 0 : CLONE_PARENT);
  if (child < 0) refuse(Step::clone);
  if (child == 0) {
    // Behind pasta, /proc has the numbers of another namespace.
    if (is_behind_pasta) write_maps("self", user, group);
    writer.reset();
    char byte = 0;
    // Without the byte our creator has failed, and has told why.
    if (::read(reader.get(), &byte, 1) != 1) ::_exit(1);
    reader.reset();
    run_box(*received, std::move(trees), has_trees);
  }
  if (is_behind_pasta) {
    connect_box(child, plan.barred);
  } else {
    write_maps(std::to_string(child), user, group);
    // Before the box goes on: its own reports follow. The number is this machine's only without pasta.
    report(created_line(child));
  }
  [[maybe_unused]] const ssize_t written = ::write(writer.get(), "1", 1);
  if (!is_behind_pasta) return 0;
  *received = {};
  trees = {};
  // Nobody else reports from here on.
  ::close(STDOUT_FILENO);
  return wait_for(child);
}

}  // namespace skiff::container::box
