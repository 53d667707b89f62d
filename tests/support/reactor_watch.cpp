// Part of skiffd_watched, never of skiffd: tells of each turn of the reactor that held up all others.

#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>

#include "base/async/deliberate_wait.hpp"

namespace {

// A turn is what happens between two calls of epoll_wait(2). It may not use the processor for longer than this, on a
// machine with whatever load.
constexpr long kMostUsed = 20'000'000;  // nanoseconds
// A turn may not give the processor up for longer, but for a lock: that is held for a few instructions, though on a
// busy machine its holder may lose the processor. Shorter waits are for locks of the kernel, such as that of the memory
// map.
constexpr long kMostWaited = 250'000'000;

long waits_for_locks = 0;  ///< of the reactor, so far

/// The resources that this thread has used so far.
struct Used {
  long switches = 0;  ///< given up by itself, but for locks
  long reads = 0;     ///< pages that had to come from disk: those of the program itself are not its doing
  long time = 0;
  long processor = 0;
  long queue = 0;  ///< ready to run, and others ran
  unsigned long deliberate = 0;
};

long nanoseconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

/// The second number of /proc/PID/schedstat; 0 where the kernel does not count.
long in_queue() {
  static const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  char text[100]{};
  long on_processor = 0;
  long waited = 0;
  if (pread(file, text, sizeof text - 1, 0) > 0) (void)std::sscanf(text, "%ld %ld", &on_processor, &waited);
  return waited;
}

Used used_so_far() {
  rusage usage{};
  (void)getrusage(RUSAGE_THREAD, &usage);
  return {.switches = usage.ru_nvcsw - waits_for_locks,
          .reads = usage.ru_majflt,
          .time = nanoseconds(CLOCK_MONOTONIC),
          .processor = nanoseconds(CLOCK_THREAD_CPUTIME_ID),
          .queue = in_queue(),
          .deliberate = skiff::DeliberateWait::count};
}

void judge(const Used& before, const Used& now) {
  const long switches = now.switches - before.switches;
  const long reads = now.reads - before.reads;
  const long used = now.processor - before.processor;
  const long waited = now.time - before.time - used - (now.queue - before.queue);
  const bool may_wait = switches <= reads || before.deliberate != now.deliberate;
  if (used <= kMostUsed && (may_wait || waited <= kMostWaited)) return;
  char line[250];
  const int size =
      std::snprintf(line, sizeof line,
                    "a turn of the reactor used the processor for %ld us and gave it up %ld times (%ld for "
                    "pages from disk) for %ld us; what the log said last was before or in it\n",
                    used / 1000, switches, reads, waited / 1000);
  (void)!write(STDERR_FILENO, line, static_cast<size_t>(size));
}

bool is_reactor() {
  return gettid() == getpid();
}

template <class Wait>
void wait_for_lock(Wait wait) {
  rusage before{};
  rusage after{};
  (void)getrusage(RUSAGE_THREAD, &before);
  wait();
  (void)getrusage(RUSAGE_THREAD, &after);
  if (is_reactor()) waits_for_locks += after.ru_nvcsw - before.ru_nvcsw;
}

}  // namespace

extern "C" int __real_pthread_mutex_lock(pthread_mutex_t* mutex);

extern "C" int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  int result = pthread_mutex_trylock(mutex);
  if (result == EBUSY) wait_for_lock([&] { result = __real_pthread_mutex_lock(mutex); });
  return result;
}

#if defined(SKIFF_STATIC)
// malloc(3) waits in this function.
extern "C" void __real___lll_lock_wait_private(int* futex);

extern "C" void __wrap___lll_lock_wait_private(int* futex) {
  wait_for_lock([futex] { __real___lll_lock_wait_private(futex); });
}
#endif

extern "C" int __real_epoll_wait(int epoll, epoll_event* events, int most, int timeout);

extern "C" int __wrap_epoll_wait(int epoll, epoll_event* events, int most, int timeout) {
  static bool begun = false;
  static Used at_begin;
  if (!is_reactor()) return __real_epoll_wait(epoll, events, most, timeout);
  if (begun) judge(at_begin, used_so_far());
  const int found = __real_epoll_wait(epoll, events, most, timeout);
  at_begin = used_so_far();
  begun = true;
  return found;
}
