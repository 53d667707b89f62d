/* Whole runs of a program, from before its start to its end, with what the kernel counted of it and of its children.
 *   whole_run --rounds N -- PROGRAM ARG...     its output goes to /dev/null
 * Prints one JSON object: the median of the milliseconds; the largest peak of resident memory in MB of any of its
 * processes; of the last run processor time, page faults, bytes and calls of read(2) and write(2) and their relatives,
 * without those of sockets (proc_pid_io(5)). It is small itself: a child begins with the peak of its parent. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "yardsticks/measure.h"

enum { kRounds = 200 };

struct counted {
  unsigned long long read_bytes, written_bytes, read_calls, write_calls;
};

static pid_t start(char** program) {
  const pid_t pid = vfork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, 0);
    dup2(null, 1);
    execvp(program[0], program);
    _exit(127);
  }
  return pid;
}

/* Of a process that has ended and is not reaped yet. */
static struct counted counts_of(pid_t pid) {
  char name[64];
  snprintf(name, sizeof name, "/proc/%d/io", (int)pid);
  struct counted all = {0, 0, 0, 0};
  FILE* file = fopen(name, "re");
  if (file == NULL || fscanf(file, "rchar: %llu wchar: %llu syscr: %llu syscw: %llu", &all.read_bytes,
                             &all.written_bytes, &all.read_calls, &all.write_calls) != 4) {
    stop(name);
  }
  fclose(file);
  return all;
}

static double ms(struct timeval time) {
  return (double)time.tv_sec * 1e3 + (double)time.tv_usec / 1e3;
}

int main(int argc, char** argv) {
  (void)argc;
  static double took[kRounds];
  char** program = command_of(argv);
  const size_t rounds = strtoul(option(argv, "--rounds", "1"), NULL, 10);
  if (rounds < 1 || rounds > kRounds) {
    fprintf(stderr, "whole_run: 1 to %d rounds\n", kRounds);
    return 2;
  }
  alarm(140);
  struct counted counts = {0, 0, 0, 0};
  struct rusage used;
  long peak_kib = 0;
  for (size_t i = 0; i < rounds; ++i) {
    const double before = now_us();
    const pid_t pid = start(program);
    siginfo_t info;
    if (pid < 0 || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0) {
      stop("start");
    }
    took[i] = (now_us() - before) / 1e3;
    counts = counts_of(pid);
    int status = 0;
    if (wait4(pid, &status, 0, &used) != pid || status != 0) {
      fprintf(stderr, "whole_run: %s failed (status %d)\n", program[0], status);
      return 1;
    }
    peak_kib = used.ru_maxrss > peak_kib ? used.ru_maxrss : peak_kib;
  }
  printf(
      "{\"ms\":%.3f,\"rss_mb\":%.3f,\"cpu_ms\":%.3f,\"faults\":%ld,\"read_bytes\":%llu,\"written_bytes\":%llu,"
      "\"read_calls\":%llu,\"write_calls\":%llu}\n",
      percentile(took, rounds, 0.5), (double)peak_kib * 1024 / 1e6, ms(used.ru_utime) + ms(used.ru_stime),
      used.ru_minflt, counts.read_bytes, counts.written_bytes, counts.read_calls, counts.write_calls);
  return 0;
}
