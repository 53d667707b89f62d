#pragma once
/* The file functions of bare_server, below its working directory, without a check where a path leads. `to` is the
 * connection; 0 when it can go on, -1 when it must end. */

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

static inline int send_all(int to, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t sent = send(to, data, size, MSG_NOSIGNAL);
    if (sent <= 0) {
      return -1;
    }
    data += sent;
    size -= (size_t)sent;
  }
  return 0;
}

/* open, fstat; read and send, `room` bytes at a time. */
int download(int to, const char* path, char* buffer, size_t room);

/* A temporary file, recv and write, rename. `begun` are the bytes of the body that came with its head. */
int upload(int to, const char* path, const char* begun, size_t begun_size, uint64_t length, char* buffer, size_t room);

/* readdir, fstatat, and a line of JSON for each; all of it must fit into `room`. */
int list_folder(int to, const char* path, char* buffer, size_t room);
