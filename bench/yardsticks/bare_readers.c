/* The bare cost of many readers of the same bytes: one send() of 32 KiB to each in turn, over loopback, without any
 * server. The cost of one reader grows with their number here, too: the kernel's buffers hold the unread bytes.
 *   bare_readers --clients N --bytes N
 * Prints one JSON object: cpu_us, the sender's own processor time. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "yardsticks/measure.h"

enum { kTurn = 32 * 1024, kRead = 256 * 1024, kEvents = 64 };

typedef struct {
  int socket;
  size_t sent;
} Reader;

/* Writable sockets, in the order of their turns. */
typedef struct {
  Reader** waiting;
  size_t room, first, count;
} Ring;

static void push(Ring* ring, Reader* reader) {
  ring->waiting[(ring->first + ring->count++) % ring->room] = reader;
}

static Reader* pop(Ring* ring) {
  Reader* reader = ring->waiting[ring->first];
  ring->first = (ring->first + 1) % ring->room;
  --ring->count;
  return reader;
}

static void watch(int epoll, int socket, uint32_t events, void* about) {
  struct epoll_event event = {.events = events, .data = {.ptr = about}};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) != 0) {
    stop("epoll_ctl");
  }
}

/* The other process: it reads all bytes, as the load generator does. */
static void receive(const struct sockaddr_in* address, size_t clients, size_t bytes, int connected) {
  char* buffer = malloc(kRead);
  int* sockets = calloc(clients, sizeof *sockets);
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  for (size_t i = 0; i < clients; ++i) {
    sockets[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (sockets[i] < 0 || connect(sockets[i], (const struct sockaddr*)address, sizeof *address) != 0) {
      stop("connect");
    }
    watch(epoll, sockets[i], EPOLLIN, &sockets[i]);
  }
  if (write(connected, "", 1) != 1) {
    stop("write");
  }
  size_t got = 0;
  struct epoll_event events[kEvents];
  for (size_t open = clients; open > 0;) {
    const int ready = epoll_wait(epoll, events, kEvents, -1);
    for (int i = 0; i < ready; ++i) {
      int* from = events[i].data.ptr;
      const ssize_t size = recv(*from, buffer, kRead, 0);
      if (size < 0) {
        stop("recv");
      }
      got += (size_t)size;
      if (size == 0) {
        close(*from);
        --open;
      }
    }
  }
  _exit(got == clients * bytes ? 0 : 1);
}

static void send_all_in_turns(Reader* readers, size_t clients, const char* data, size_t bytes) {
  Ring ring = {.waiting = calloc(clients, sizeof(Reader*)), .room = clients};
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  for (size_t i = 0; i < clients; ++i) {
    watch(epoll, readers[i].socket, EPOLLOUT | EPOLLET, &readers[i]); /* ready at once */
  }
  for (size_t open = clients; open > 0;) {
    struct epoll_event events[kEvents];
    /* Edge-triggered: epoll reports each writable socket once, without a look at the others. */
    const int ready = ring.count == 0 ? epoll_wait(epoll, events, kEvents, -1) : 0;
    for (int i = 0; i < ready; ++i) {
      Reader* reader = events[i].data.ptr;
      push(&ring, reader);
    }
    while (ring.count > 0) {
      Reader* reader = pop(&ring);
      const size_t left = bytes - reader->sent;
      const ssize_t size =
          send(reader->socket, data + reader->sent, left < kTurn ? left : kTurn, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (size < 0 && errno != EAGAIN) {
        stop("send");
      }
      if (size < 0) {
        continue; /* until epoll reports it */
      }
      reader->sent += (size_t)size;
      if (reader->sent == bytes) {
        close(reader->socket);
        --open;
      } else {
        push(&ring, reader);
      }
    }
  }
}

/* The processor time of this thread, the only one (the first number of proc_pid_schedstat, nanoseconds). */
static double cpu_us(void) {
  double took = 0;
  FILE* file = fopen("/proc/self/schedstat", "re");
  if (file == NULL || fscanf(file, "%lf", &took) != 1) {
    stop("/proc/self/schedstat");
  }
  fclose(file);
  return took / 1e3;
}

int main(int argc, char** argv) {
  (void)argc;
  const size_t clients = strtoul(option(argv, "--clients", "1"), NULL, 10);
  const size_t bytes = strtoul(option(argv, "--bytes", "1048576"), NULL, 10);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int connected[2];
  if (listener < 0 || bind(listener, (struct sockaddr*)&address, length) != 0 || listen(listener, (int)clients) != 0 ||
      getsockname(listener, (struct sockaddr*)&address, &length) != 0 || pipe2(connected, O_CLOEXEC) != 0) {
    stop("bare_readers");
  }
  alarm(60);
  const pid_t other = fork();
  if (other == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(listener);
    receive(&address, clients, bytes, connected[1]);
  }
  char* data = malloc(bytes);
  memset(data, 1, bytes);
  Reader* readers = calloc(clients, sizeof *readers);
  const double before = cpu_us();
  for (size_t i = 0; i < clients; ++i) {
    readers[i].socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (readers[i].socket < 0) {
      stop("accept");
    }
  }
  char all;
  if (read(connected[0], &all, 1) != 1) {
    stop("read");
  }
  send_all_in_turns(readers, clients, data, bytes);
  const double took = cpu_us() - before;
  int status = 0;
  if (waitpid(other, &status, 0) != other || status != 0) {
    fprintf(stderr, "bare_readers: the readers did not get everything (status %d)\n", status);
    return 1;
  }
  printf("{\"cpu_us\":%.1f}\n", took);
  return 0;
}
