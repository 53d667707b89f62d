/* The bare cost of a command's output: a program, a pipe and a reader, without any server.
 *   bare_pipe [--pipe-bytes N] [--buffer N] -- PROGRAM ARG...     read() into one buffer
 *   bare_pipe --cat 1 [--pipe-bytes N] -- PROGRAM ARG...          PROGRAM | cat >/dev/null
 * Prints one JSON object: bytes (0 with --cat), seconds from before the start to the end of both, MB/s. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "yardsticks/measure.h"

static pid_t start(char** program, int in, int out) {
  const pid_t pid = vfork();
  if (pid == 0) {
    dup2(in, 0);
    dup2(out, 1);
    execvp(program[0], program);
    _exit(127);
  }
  return pid;
}

static void end(pid_t pid) {
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
    fprintf(stderr, "bare_pipe: the command failed (status %d)\n", status);
    exit(1);
  }
}

int main(int argc, char** argv) {
  (void)argc;
  char** program = command_of(argv);
  const size_t size = strtoul(option(argv, "--buffer", "262144"), NULL, 10);
  const int pipe_bytes = atoi(option(argv, "--pipe-bytes", "0"));
  const int cat = atoi(option(argv, "--cat", "0"));
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  char* buffer = malloc(size);
  int ends[2];
  if (null < 0 || buffer == NULL || pipe2(ends, O_CLOEXEC) != 0) {
    stop("bare_pipe");
  }
  memset(buffer, 1, size);
  if (pipe_bytes > 0 && fcntl(ends[1], F_SETPIPE_SZ, pipe_bytes) < 0) {
    stop("F_SETPIPE_SZ");
  }
  alarm(120);

  const double before = now_us();
  uint64_t bytes = 0;
  pid_t reader = -1;
  const pid_t pid = start(program, null, ends[1]);
  close(ends[1]);
  if (cat) {
    char* arguments[] = {(char*)"cat", NULL};
    reader = start(arguments, ends[0], null);
    close(ends[0]);
    end(reader);
  } else {
    for (ssize_t got = 1; got != 0; bytes += (uint64_t)got) {
      got = read(ends[0], buffer, size);
      if (got < 0) {
        stop("read");
      }
    }
  }
  end(pid);
  const double took = (now_us() - before) / 1e6;
  printf("{\"bytes\":%llu,\"seconds\":%.6f,\"mb_per_s\":%.1f}\n", (unsigned long long)bytes, took,
         (double)bytes / took / 1e6);
  return 0;
}
