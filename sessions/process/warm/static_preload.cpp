// The library that makes a shell wait (docs/adr/0013), preloaded by the dynamic linker: a file of its own, not part of
// skiffd, which carries it as bytes. It has no C library, for it runs before the shell's own is ready, and whatever is
// not as expected ends the process: the agent then starts its commands without it. Once a command has come, the agent
// is told what failed, so that nobody takes this exit for the command's.

#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>

#include "sessions/process/system_call.hpp"
#include "sessions/process/warm/takeover.hpp"

namespace skiff::sessions {
namespace {

constexpr long kAbove = 16;  // descriptors go here first, above every target

[[noreturn]] void give_up() {
  for (;;) call(SYS_exit_group, 126);
}

long checked(long result) {
  if (result < 0) give_up();
  return result;
}

using Step = TakeoverFailure::Step;

/// The way back to the agent, until the command begins.
class Agent {
 public:
  [[noreturn]] void tell(Step step, long error) const {
    const TakeoverFailure failure{.step = step, .error = static_cast<std::int32_t>(error)};
    call(SYS_sendto, socket_, as_long(&failure), sizeof failure, MSG_NOSIGNAL | MSG_DONTWAIT);
    give_up();
  }
  long checked(Step step, long result) const {
    if (result < 0) tell(step, -result);
    return result;
  }
  /// Above every target.
  void make_room() {
    const long raised = checked(Step::descriptors, call(SYS_fcntl, socket_, F_DUPFD_CLOEXEC, kAbove));
    call(SYS_close, socket_);
    socket_ = raised;
  }
  void leave() const { call(SYS_close, socket_); }

 private:
  long socket_ = Takeover::kSocketFd;
};

/// The numbers of /proc/self/stat, by their places in proc(5), from the third on.
class Stat {
 public:
  static constexpr int kLast = 51;
  Stat() {
    char text[1024];
    const long file = checked(call(SYS_openat, AT_FDCWD, as_long("/proc/self/stat"), O_RDONLY | O_CLOEXEC));
    const long size = checked(call(SYS_read, file, as_long(text), sizeof text));
    call(SYS_close, file);
    // The name, in parentheses, may hold anything.
    long at = size;
    while (at > 0 && text[at - 1] != ')') --at;
    for (int field = 3; field <= kLast; ++field) {
      ++at;
      for (; at < size && text[at] != ' ' && text[at] != '\n'; ++at) {
        numbers_[field] = numbers_[field] * 10 + static_cast<unsigned long>(text[at] - '0');
      }
    }
    if (at >= size) give_up();
  }
  [[nodiscard]] unsigned long operator[](int field) const { return numbers_[field]; }

 private:
  unsigned long numbers_[kLast + 1] = {};
};

/// Says that it waits, then waits. How many bytes came.
long receive(const Agent& agent, Takeover* takeover, int (&descriptors)[1 + Takeover::kMostTargets]) {
  checked(call(SYS_write, Takeover::kSocketFd, as_long("r"), 1));
  iovec part{takeover, Takeover::kMostBytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptors)];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  long size = 0;
  do {
    size = call(SYS_recvmsg, Takeover::kSocketFd, as_long(&message), MSG_CMSG_CLOEXEC);
  } while (size == -EINTR);  // stopped and continued
  if (size == 0) give_up();  // it is let go
  agent.checked(Step::message, size);
  // Its limit of descriptors does not hold them.
  if ((message.msg_flags & MSG_CTRUNC) != 0) agent.tell(Step::descriptors, EMFILE);
  if (size < static_cast<long>(sizeof(Takeover)) || (message.msg_flags & MSG_TRUNC) != 0) {
    agent.tell(Step::message, EMSGSIZE);
  }
  const cmsghdr* rights = CMSG_FIRSTHDR(&message);
  const unsigned long count = 1 + takeover->target_count;
  if (rights == nullptr || rights->cmsg_len != CMSG_LEN(count * sizeof(int))) agent.tell(Step::message, EBADMSG);
  const int* from = reinterpret_cast<const int*>(CMSG_DATA(rights));
  for (unsigned long i = 0; i < count; ++i) descriptors[i] = from[i];
  return size;
}

/// Points the words of `list` to the strings at `text`. Behind the last one.
char* point(const Agent& agent, char** list, unsigned long count, char* text, const char* end) {
  for (unsigned long i = 0; i < count; ++i) {
    list[i] = text;
    while (text < end && *text != '\0') ++text;
    if (text++ >= end) agent.tell(Step::message, EBADMSG);
  }
  list[count] = nullptr;
  return text;
}

__attribute__((constructor)) void wait_for_command() {
  const Stat stat;
  // As execve(2) has left it: argc, argv, a null pointer, the environment, a null pointer.
  long* const stack = reinterpret_cast<long*>(stat[28]);
  if (stack == nullptr) give_up();
  char** const argv = reinterpret_cast<char**>(stack + 1);
  char** const environment = argv + *stack + 1;
  prctl_mm_map map{.start_code = stat[26],
                   .end_code = stat[27],
                   .start_data = stat[45],
                   .end_data = stat[46],
                   .start_brk = stat[47],
                   .brk = static_cast<unsigned long>(call(SYS_brk)),
                   .start_stack = stat[28],
                   .arg_start = stat[48],
                   .arg_end = stat[49],
                   .env_start = stat[50],
                   .env_end = stat[51],
                   .auxv = nullptr,
                   .auxv_size = 0,
                   .exe_fd = ~0U};
  const auto show = [&map] { return call(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, as_long(&map), sizeof map); };
  checked(show());  // where the kernel refuses this, nothing is lost yet

  const long memory =
      checked(call(SYS_mmap, 0, Takeover::kMostBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  auto* const takeover = reinterpret_cast<Takeover*>(memory);
  char name[16];
  checked(call(SYS_prctl, PR_GET_NAME, as_long(name)));
  // What comes is one command's alone: no process of the same user takes the socket, or reads it here, until it is the
  // command's own to guard.
  const long dumpable = checked(call(SYS_prctl, PR_GET_DUMPABLE));
  checked(call(SYS_prctl, PR_SET_DUMPABLE, 0));
  call(SYS_prctl, PR_SET_NAME, as_long("skiff-waits"));  // pgrep(1) and killall(1) of "sh" don't mean this one
  call(SYS_close, Takeover::kLibraryFd);

  int descriptors[1 + Takeover::kMostTargets];
  Agent agent;
  const long size = receive(agent, takeover, descriptors);
  agent.checked(Step::directory, call(SYS_fchdir, descriptors[0]));
  call(SYS_close, descriptors[0]);
  agent.make_room();
  for (unsigned long i = 0; i < takeover->target_count; ++i) {
    int& one = descriptors[1 + i];
    const long raised = agent.checked(Step::descriptors, call(SYS_fcntl, one, F_DUPFD_CLOEXEC, kAbove));
    call(SYS_close, one);
    one = static_cast<int>(raised);
  }
  for (unsigned long i = 0; i < takeover->target_count; ++i) {
    agent.checked(Step::descriptors, call(SYS_dup3, descriptors[1 + i], takeover->targets[i], 0));
    call(SYS_close, descriptors[1 + i]);
  }
  for (unsigned long i = 0; i < takeover->limit_count; ++i) {
    const Takeover::Limit& limit = takeover->limits[i];
    const rlimit value{limit.soft, limit.hard};
    agent.checked(Step::limits, call(SYS_prlimit64, 0, static_cast<long>(limit.resource), as_long(&value)));
  }
  if (static_cast<long>(takeover->words) != *stack || takeover->variables > Takeover::kMostVariables) {
    agent.tell(Step::message, E2BIG);
  }
  char* const words = reinterpret_cast<char*>(takeover + 1);
  const char* const end = reinterpret_cast<char*>(memory + size);
  char* const variables = point(agent, argv, takeover->words, words, end);
  char* const rest = point(agent, environment, takeover->variables, variables, end);
  // What ps(1) and /proc/PID/environ show.
  map.arg_start = reinterpret_cast<unsigned long>(words);
  map.arg_end = map.env_start = reinterpret_cast<unsigned long>(variables);
  map.env_end = reinterpret_cast<unsigned long>(rest);
  agent.checked(Step::memory, show());
  agent.leave();
  call(SYS_prctl, PR_SET_NAME, as_long(name));
  call(SYS_prctl, PR_SET_DUMPABLE, dumpable);
}

}  // namespace
}  // namespace skiff::sessions
