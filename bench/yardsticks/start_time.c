/* The time of a server from exec to accepting, and to its first response; of an empty program from exec to its end.
 *   start_time --rounds N [--token T] -- SERVER ARG...    waits for "... listening on http://ADDR:PORT", then GET
 * /healthz start_time --rounds N --until exit -- PROGRAM ARG... Prints one JSON object with medians in ms. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "yardsticks/measure.h"

enum { kRounds = 200 };

static pid_t start(char** program, int out) {
  const pid_t pid = vfork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* the server ends with this program */
    dup2(out, 1);
    execv(program[0], program);
    _exit(127);
  }
  return pid;
}

/* The port in "listening on http://127.0.0.1:PORT", once the whole line is there. */
static unsigned listening_port(int in) {
  char line[512];
  size_t size = 0;
  while (size + 1 < sizeof line) {
    const ssize_t got = read(in, line + size, sizeof line - 1 - size);
    if (got <= 0) {
      break;
    }
    size += (size_t)got;
    line[size] = 0;
    const char* found = strstr(line, "listening on http://127.0.0.1:");
    if (found != NULL && strchr(found, '\n') != NULL) {
      return (unsigned)strtoul(found + strlen("listening on http://127.0.0.1:"), NULL, 10);
    }
  }
  fprintf(stderr, "start_time: the server did not say where it listens\n");
  exit(1);
}

static void ask(unsigned port) {
  static const char request[] = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  char answer[1024] = {0};
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, (struct sockaddr*)&address, sizeof address) != 0 ||
      send(fd, request, sizeof request - 1, 0) < 0 || recv(fd, answer, sizeof answer - 1, 0) <= 0) {
    stop("first request");
  }
  if (strncmp(answer, "HTTP/1.1 200", 12) != 0) {
    fprintf(stderr, "start_time: /healthz answered %s\n", answer);
    exit(1);
  }
  close(fd);
}

int main(int argc, char** argv) {
  (void)argc;
  static double accepting[kRounds], answered[kRounds];
  char** program = command_of(argv);
  const size_t rounds = strtoul(option(argv, "--rounds", "20"), NULL, 10);
  const int until_exit = strcmp(option(argv, "--until", "answer"), "exit") == 0;
  if (rounds < 1 || rounds > kRounds) {
    fprintf(stderr, "start_time: 1 to %d rounds\n", kRounds);
    return 2;
  }
  alarm(120);
  for (size_t i = 0; i < rounds; ++i) {
    int out[2];
    if (pipe2(out, O_CLOEXEC) != 0) {
      stop("pipe2");
    }
    const double before = now_us();
    const pid_t pid = start(program, out[1]);
    close(out[1]);
    if (!until_exit) {
      const unsigned port = listening_port(out[0]);
      accepting[i] = (now_us() - before) / 1e3;
      ask(port);
      answered[i] = (now_us() - before) / 1e3;
      kill(pid, SIGKILL);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (until_exit) {
      accepting[i] = answered[i] = (now_us() - before) / 1e3;
      if (status != 0) {
        fprintf(stderr, "start_time: %s failed\n", program[0]);
        return 1;
      }
    }
    close(out[0]);
  }
  printf("{\"accepting_ms\":%.3f,\"answered_ms\":%.3f}\n", percentile(accepting, rounds, 0.5),
         percentile(answered, rounds, 0.5));
  return 0;
}
