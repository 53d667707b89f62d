// The time for which skiffd's own spawn call blocks its caller, without skiffd around it.
//   spawn_call [--seconds S] [--heap-mb M] [--files N] [--without-clone3 1] -- PROGRAM ARG...
// Prints one JSON object, as bare_spawn does.

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "sessions/spawn/spawn.hpp"

namespace {

[[noreturn]] void stop(const char* what) {
  std::perror(what);
  std::exit(1);
}

/// Allocates page tables and a heap like those of a busy agent.
void take_memory(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    stop("mmap");
  }
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);
  std::memset(memory, 1, bytes);
}

void open_files(long count) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (long i = 0; i < count; ++i) {
    if (::fcntl(null, F_DUPFD_CLOEXEC, 3) < 0) {
      stop("F_DUPFD_CLOEXEC");
    }
  }
}

/// Makes clone3 fail with ENOSYS, as the default profile of container runtimes does.
void take_clone3_away() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{.len = static_cast<unsigned short>(std::size(code)), .filter = code};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    stop("seccomp");
  }
}

double now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(now).count();
}

double percentile(std::vector<double>& values, double fraction) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(fraction * static_cast<double>(values.size() - 1) + 0.5)];
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> options{
      {"--seconds", "1"}, {"--heap-mb", "0"}, {"--files", "0"}, {"--without-clone3", "0"}};
  int at = 1;
  for (; at + 1 < argc && std::strcmp(argv[at], "--") != 0; at += 2) {
    options[argv[at]] = argv[at + 1];
  }
  if (at + 1 >= argc || options.size() != 4) {
    std::fprintf(stderr,
                 "usage: spawn_call [--seconds S] [--heap-mb M] [--files N] [--without-clone3 1] -- PROGRAM...\n");
    return 2;
  }
  const double seconds = std::min(std::stod(options["--seconds"]), 60.0);
  const auto null = [] { return skiff::UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC)); };
  skiff::sessions::SpawnRequest request;
  request.argv.assign(argv + at + 1, argv + argc);
  request.env = {"PATH=/usr/bin:/bin"};
  request.cwd = "/";
  request.in = null();
  request.out = null();
  request.err = null();
  request.tag = 3'600'000'000'000;  // microseconds; any large value
  request.nice = 0;                 // measures the time of the call, not of the scheduler

  const auto spawn = [&] {
    const auto pid = skiff::sessions::Spawner::spawn_here(request);
    if (!pid) {
      std::fprintf(stderr, "spawn_call: %s could not be run\n", argv[at + 1]);
      std::exit(1);
    }
    return *pid;
  };
  // An agent's threads spawn before it is full of memory and connections, and so reserve their memory early.
  ::waitpid(spawn(), nullptr, 0);
  if (options["--heap-mb"] != "0") {
    take_memory(std::stoul(options["--heap-mb"]) << 20);
  }
  open_files(std::stol(options["--files"]));
  if (options["--without-clone3"] == "1") {
    take_clone3_away();
  }

  std::vector<double> whole, call;
  const double start = now_us();
  for (double before = start; before < start + seconds * 1e6; before = now_us()) {
    const pid_t pid = spawn();
    call.push_back(now_us() - before);
    int status = 0;
    if (::waitpid(pid, &status, 0) != pid || status != 0) {
      std::fprintf(stderr, "spawn_call: %s failed\n", argv[at + 1]);
      return 1;
    }
    whole.push_back(now_us() - before);
  }
  std::printf(
      "{\"count\":%zu,\"rate\":%.1f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"call_p50_us\":%.1f,\"call_p99_us\":%.1f}\n",
      whole.size(), static_cast<double>(whole.size()) * 1e6 / (now_us() - start), percentile(whole, 0.5),
      percentile(whole, 0.99), percentile(call, 0.5), percentile(call, 0.99));
  return 0;
}
