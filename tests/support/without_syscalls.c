// without_syscalls ENOSYS|EPERM COMMAND...: runs COMMAND where the newer system calls fail like that, as under the
// seccomp filters of container runtimes (ENOSYS) and of older ones (EPERM). A test suite that passes here does not
// depend on them.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#if defined(__x86_64__)
#define SKIFF_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SKIFF_ARCH AUDIT_ARCH_AARCH64
#else
#error "system call numbers are known for x86_64 and aarch64"
#endif

// Numbers above 423 are the same on every architecture. Written out: kernel headers may be older than the calls.
static const unsigned kTaken[] = {
    424,  // pidfd_send_signal
    434,  // pidfd_open
    436,  // close_range
    437,  // openat2
    438,  // pidfd_getfd
    444,  // landlock_create_ruleset
    445,  // landlock_add_rule
    446,  // landlock_restrict_self
};
enum { kClone3 = 435 };
enum { kCount = sizeof kTaken / sizeof kTaken[0] };

int main(int argc, char** argv) {
  unsigned error = 0;
  if (argc > 2 && strcmp(argv[1], "ENOSYS") == 0) error = ENOSYS;
  if (argc > 2 && strcmp(argv[1], "EPERM") == 0) error = EPERM;
  if (error == 0) {
    fputs("usage: without_syscalls ENOSYS|EPERM command...\n", stderr);
    return 2;
  }
  struct sock_filter filter[kCount + 8];
  unsigned at = 0;
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
  filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SKIFF_ARCH, 1, 0);
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  // glibc's pthread_create() falls back to clone on ENOSYS and on nothing else (its clone-internal.c): where clone3
  // gives EPERM no program of glibc 2.34 or newer has threads at all, so clone3 is absent the one way in both modes.
  filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kClone3, 0, 1);
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
  for (unsigned i = 0; i < kCount; ++i) {
    filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kTaken[i], (unsigned char)(kCount - i), 0);
  }
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
  const struct sock_fprog program = {.len = (unsigned short)at, .filter = filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("without_syscalls: install the filter");
    return 2;
  }
  execvp(argv[2], argv + 2);
  perror("without_syscalls: exec");
  return 2;
}
