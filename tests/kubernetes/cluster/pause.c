// The process that holds a pod's namespaces: what is left to it is reaped, and it leaves when it is told to.
#include <signal.h>
#include <unistd.h>

static void leave(int number) {
  (void)number;
  _exit(0);
}

int main(void) {
  signal(SIGTERM, leave);
  signal(SIGINT, leave);
  signal(SIGCHLD, SIG_IGN);  // the kernel reaps
  for (;;) pause();
}
