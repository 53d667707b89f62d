/* The bare cost of a process: start it, wait for it, again, without any server.
 *   bare_spawn [--method vfork|clone|fork|posix_spawn] [--threads N] [--seconds S] [--heap-mb M] [--files N]
 *   [--pause-us P] -- PROGRAM ARG... Prints one JSON object: rate, p50/p99 of the whole, and how long the call itself
 * blocked its caller. `vfork` is clone(CLONE_VM|CLONE_VFORK); `clone` adds CLONE_FILES and
 * close_range(CLOSE_RANGE_UNSHARE), which keeps the cost independent of how many descriptors the caller has. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "yardsticks/measure.h"

enum { kStack = 64 * 1024, kMost = 400000 };

static const char* method;
static char** program;
static double seconds;
static unsigned pause_us;
extern char** environ;

typedef struct {
  pthread_t thread;
  size_t count;
  double *whole, *call;
  char* stack;
} Loop;

static int child(void* unused) {
  (void)unused;
  if (method[0] == 'c') {
    close_range(3, ~0u, CLOSE_RANGE_UNSHARE);
  }
  execve(program[0], program, environ);
  _exit(127);
}

static pid_t start(Loop* loop) {
  pid_t pid = -1;
  switch (method[0]) {
    case 'v':
      return clone(child, loop->stack + kStack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    case 'c':
      return clone(child, loop->stack + kStack, CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, NULL);
    case 'p':
      return posix_spawn(&pid, program[0], NULL, NULL, program, environ) == 0 ? pid : -1;
    default:
      pid = fork();
      if (pid == 0) {
        child(NULL);
      }
      return pid;
  }
}

static void* run(void* argument) {
  Loop* loop = argument;
  const double end = now_us() + seconds * 1e6;
  for (double before = now_us(); before < end && loop->count < kMost; before = now_us()) {
    if (pause_us > 0) {
      usleep(pause_us);
      before = now_us();
    }
    const pid_t pid = start(loop);
    const double started = now_us();
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
      fprintf(stderr, "bare_spawn: %s failed (status %d)\n", program[0], status);
      exit(1);
    }
    loop->whole[loop->count] = now_us() - before;
    loop->call[loop->count++] = started - before;
  }
  return NULL;
}

int main(int argc, char** argv) {
  (void)argc;
  method = option(argv, "--method", "vfork");
  seconds = atof(option(argv, "--seconds", "1"));
  pause_us = (unsigned)strtoul(option(argv, "--pause-us", "0"), NULL, 10);
  program = command_of(argv);
  const size_t threads = strtoul(option(argv, "--threads", "1"), NULL, 10);
  const size_t heap = strtoul(option(argv, "--heap-mb", "0"), NULL, 10) << 20;
  const size_t files = strtoul(option(argv, "--files", "0"), NULL, 10);
  if (threads < 1 || threads > 16 || seconds > 60) {
    fprintf(stderr, "bare_spawn: 1 to 16 threads, at most 60 seconds\n");
    return 2;
  }
  if (heap > 0) {
    char* memory = mmap(NULL, heap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      stop("mmap");
    }
    madvise(memory, heap, MADV_NOHUGEPAGE); /* page tables as an allocator's many small pieces make them */
    memset(memory, 1, heap);
  }
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (size_t i = 0; i < files; ++i) {
    if (fcntl(null, F_DUPFD_CLOEXEC, 3) < 0) {
      stop("F_DUPFD_CLOEXEC");
    }
  }

  Loop loops[16] = {0};
  const double before = now_us();
  for (size_t i = 0; i < threads; ++i) {
    loops[i].whole = malloc(kMost * sizeof(double));
    loops[i].call = malloc(kMost * sizeof(double));
    loops[i].stack = mmap(NULL, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (loops[i].stack == MAP_FAILED || pthread_create(&loops[i].thread, NULL, run, &loops[i]) != 0) {
      stop("pthread_create");
    }
  }
  double* whole = malloc(threads * kMost * sizeof(double));
  double* call = malloc(threads * kMost * sizeof(double));
  size_t count = 0;
  for (size_t i = 0; i < threads; ++i) {
    pthread_join(loops[i].thread, NULL);
    memcpy(whole + count, loops[i].whole, loops[i].count * sizeof(double));
    memcpy(call + count, loops[i].call, loops[i].count * sizeof(double));
    count += loops[i].count;
  }
  const double took = (now_us() - before) / 1e6;
  printf("{\"count\":%zu,\"rate\":%.1f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"call_p50_us\":%.1f,\"call_p99_us\":%.1f}\n",
         count, (double)count / took, percentile(whole, count, 0.5), percentile(whole, count, 0.99),
         percentile(call, count, 0.5), percentile(call, count, 0.99));
  return 0;
}
