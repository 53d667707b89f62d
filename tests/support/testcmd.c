// A child program for tests: each word does one small thing that would be a guess if a shell did it. Linked statically,
// so that it starts fast and holds no descriptor of its own.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void say(const char* text) {
  if (write(1, text, strlen(text)) < 0) _exit(111);
}

static void wait_for_ever(void) {
  for (;;) pause();
}

// descriptors: the numbers of all open descriptors, one a line.
static int descriptors(void) {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == NULL) return 1;
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(folder)) continue;
    printf("%s\n", entry->d_name);
  }
  return 0;
}

// status KEY...: those lines of /proc/self/status.
static int status(int count, char** keys) {
  FILE* file = fopen("/proc/self/status", "re");
  char line[512];
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    for (int i = 0; i < count; ++i) {
      if (strncmp(line, keys[i], strlen(keys[i])) == 0 && line[strlen(keys[i])] == ':') fputs(line, stdout);
    }
  }
  return 0;
}

// ignore-term: ignores SIGTERM and everything else that can be ignored, says so, and stays.
static int ignore_term(void) {
  for (int number = 1; number < 32; ++number) signal(number, SIG_IGN);
  say("ready\n");
  wait_for_ever();
  return 0;
}

// stop: says so and stops itself; SIGTERM ends it with 7, once it is continued.
static void end_7(int number) {
  (void)number;
  _exit(7);
}
static int stop(void) {
  signal(SIGTERM, end_7);
  say("ready\n");
  raise(SIGSTOP);
  wait_for_ever();
  return 0;
}

// daemon: leaves a grandchild in a session of its own, without environment, that says its pid and stays. Its parent
// ends.
static int make_daemon(const char* self, int linger) {
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      char* const argv[] = {(char*)self, "stay", NULL};
      char* const envp[] = {NULL};
      execve(self, argv, envp);
      _exit(112);
    }
    _exit(0);
  }
  wait(NULL);
  if (linger) wait_for_ever();
  return 0;
}

// orphan CODE: ends with CODE and leaves a grandchild that ends soon after it.
static int orphan(int code) {
  if (fork() == 0) {
    if (fork() == 0) _exit(9);
    _exit(0);
  }
  return code;
}

// fork-forever: a chain that keeps replacing its one process, so that no list of pids is ever right. It ends by itself
// after half a minute: a test that fails must not take the machine along.
static int fork_forever(void) {
  say("ready\n");
  signal(SIGCHLD, SIG_IGN);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  for (const time_t last = now.tv_sec + 30; now.tv_sec < last; clock_gettime(CLOCK_MONOTONIC, &now)) {
    const pid_t next = fork();
    if (next != 0) _exit(next > 0 ? 0 : 115);
    usleep(200);
  }
  return 0;
}

// thread-less leader aside, reading in four ways: read, poll, select, and from /dev/tty.
static int reader(const char* how) {
  char byte;
  if (strcmp(how, "read") == 0) return read(0, &byte, 1) < 0;
  if (strcmp(how, "poll") == 0) {
    struct pollfd one = {.fd = 0, .events = POLLIN};
    return poll(&one, 1, -1) < 0;
  }
  if (strcmp(how, "select") == 0) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(0, &set);
    return select(1, &set, NULL, NULL, NULL) < 0;
  }
  int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
  if (terminal < 0) return 113;
  return read(terminal, &byte, 1) < 0;
}

// Takes the mark off that the agent knows its commands by (the hard RLIMIT_RTTIME), which anybody may.
static void unmark(void) {
  const struct rlimit low = {1000, 1000};
  if (setrlimit(RLIMIT_RTTIME, &low) != 0) _exit(114);
}

// unmark-child, unmark-session: a child without the mark, for the latter in a session of its own; says the child's pid.
static int unmarked_child(int own_session) {
  const pid_t child = fork();
  if (child == 0) {
    unmark();
    if (own_session) setsid();
    printf("%d\n", (int)getpid());
    fflush(stdout);
    wait_for_ever();
  }
  wait_for_ever();
  return 0;
}

int main(int argc, char** argv) {
  const char* word = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? atoi(argv[2]) : 0;
  if (strcmp(word, "exit") == 0) return number;
  if (strcmp(word, "signal") == 0) return raise(number);
  if (strcmp(word, "descriptors") == 0) return descriptors();
  if (strcmp(word, "status") == 0) return status(argc - 2, argv + 2);
  if (strcmp(word, "ignore-term") == 0) return ignore_term();
  if (strcmp(word, "stop") == 0) return stop();
  if (strcmp(word, "daemon") == 0) return make_daemon(argv[0], 0);
  if (strcmp(word, "daemon-and-stay") == 0) return make_daemon(argv[0], 1);
  if (strcmp(word, "orphan") == 0) return orphan(number);
  if (strcmp(word, "fork-forever") == 0) return fork_forever();
  if (strcmp(word, "reader") == 0 && argc > 2) return reader(argv[2]);
  if (strcmp(word, "stay") == 0) {
    printf("%d\n", (int)getpid());
    fflush(stdout);
    wait_for_ever();
  }
  if (strcmp(word, "unmark") == 0) {
    unmark();
    say("ready\n");
    wait_for_ever();
  }
  if (strcmp(word, "unmark-child") == 0) return unmarked_child(0);
  if (strcmp(word, "unmark-session") == 0) return unmarked_child(1);
  if (strcmp(word, "lower-soft-mark") == 0) {
    // A harmless process may change the mark so: the soft limit is its own.
    struct rlimit limit;
    getrlimit(RLIMIT_RTTIME, &limit);
    limit.rlim_cur = 1000000;
    if (setrlimit(RLIMIT_RTTIME, &limit) != 0) return 114;
    say("ready\n");
    wait_for_ever();
  }
  if (strcmp(word, "identity") == 0) {
    printf("pid %d ppid %d sid %d pgid %d nice %d foreground %d\n", (int)getpid(), (int)getppid(), (int)getsid(0),
           (int)getpgid(0), getpriority(PRIO_PROCESS, 0), (int)tcgetpgrp(0));
    return 0;
  }
  fprintf(stderr, "testcmd: unknown word \"%s\"\n", word);
  return 2;
}
