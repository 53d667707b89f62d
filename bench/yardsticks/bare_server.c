/* bare_server [--sessions]
 *
 * The yardstick of a server: the least work for the same requests. It blocks, has a thread per connection, hardly a
 * parser, no limits, no credentials, no log. It knows just enough of the API for the load generator:
 *
 *   GET  /healthz
 *   POST .../commands  {"command": "..."} or {"argv": ["/...", ...]}                WAIT: spawn, read, wait, answer
 *                      with "mode":"stream", Accept: application/octet-stream       read() + one send() a chunk
 *                      with "mode":"stream", Accept: application/x-ndjson           events, plain base64
 *   GET  .../run?command=...  (WebSocket; skiff.v1.binary, else skiff.v1.json)      one frame a read()
 *   GET, PUT .../files/PATH and GET .../files:list?path=PATH                        bare_files.h
 *
 * With --sessions each child leads a session of its own, as every server starts its commands that can end all of them:
 * the scheduler's autogroups (sched(7)) then share the processors among children, not between them and the server.
 *
 * Copying output is all it can do; it reads up to 256 KiB from a pipe of 1 MiB, the best of the sizes that were tried.
 * Strings are taken as they stand, without escapes. The WebSocket handshake knows one key, the one of RFC 6455. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "yardsticks/bare_files.h"
#include "yardsticks/measure.h"

enum { kRequest = 64 * 1024, kRead = 256 * 1024, kRoom = 64, kPipe = 1024 * 1024, kArguments = 16, kStack = 64 * 1024 };

typedef enum { kChunks, kNdjson, kFrames, kJsonFrames } Form;

typedef struct {
  int socket;
  char* request; /* kRequest + 1 bytes, zero-terminated */
  char* buffer;  /* kRoom, then kRead, then kRoom: headers go before the bytes that were read, in one send() */
  char* encoded; /* for base64; allocated when needed */
  char* stack;   /* stack of the child until its exec */
} Connection;

typedef struct {
  char* argv[kArguments];
  int out;
} Child;

static int null;
static int with_sessions;
extern char** environ;

static int send_text(int to, const char* text) {
  return send_all(to, text, strlen(text));
}

static int run_child(void* argument) {
  Child* child = argument;
  if (with_sessions) {
    setsid();
  }
  dup2(null, 0);
  dup2(child->out, 1);
  dup2(child->out, 2);
  execve(child->argv[0], child->argv, environ);
  _exit(127);
}

/* Starts the child's command; `*from` is the reading end of its output. */
static pid_t start(Connection* connection, Child* child, int pipe_bytes, int* from) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return -1;
  }
  if (pipe_bytes > 0) {
    fcntl(ends[1], F_SETPIPE_SZ, pipe_bytes); /* refused beyond the user's share: then it keeps its default */
  }
  child->out = ends[1];
  const pid_t pid = clone(run_child, connection->stack + kStack, CLONE_VM | CLONE_VFORK | SIGCHLD, child);
  close(ends[1]);
  *from = ends[0];
  return pid;
}

/* Cuts the string that follows `name` out of `text`, in place. */
static char* cut(char* text, const char* name, char until, char** rest) {
  char* start_of = text == NULL ? NULL : strstr(text, name);
  char* end = start_of == NULL ? NULL : strchr(start_of + strlen(name), until);
  if (end == NULL) {
    return NULL;
  }
  *end = 0;
  *rest = end + 1;
  return start_of + strlen(name);
}

static int command_in_json(char* body, Child* child) {
  char* rest = NULL;
  char* command = cut(body, "\"command\":\"", '"', &rest);
  if (command != NULL) {
    *child = (Child){.argv = {(char*)"/bin/sh", (char*)"-c", command}};
    return 0;
  }
  char* list = cut(body, "\"argv\":[", ']', &rest);
  int count = 0;
  for (char* one = cut(list, "\"", '"', &rest); one != NULL && count + 1 < kArguments;
       one = cut(rest, "\"", '"', &rest)) {
    child->argv[count++] = one;
  }
  child->argv[count] = NULL;
  return count > 0 ? 0 : -1;
}

static int command_in_target(char* target, Child* child) {
  char* rest = NULL;
  char* command = cut(target, "command=", ' ', &rest);
  if (command == NULL) {
    return -1;
  }
  char* to = command;
  for (const char* from = command; *from != 0; ++from) {
    unsigned value = 0;
    if (*from == '%' && sscanf(from + 1, "%2x", &value) == 1) {
      *to++ = (char)value;
      from += 2;
    } else {
      *to++ = *from;
    }
  }
  *to = 0;
  *child = (Child){.argv = {(char*)"/bin/sh", (char*)"-c", command}};
  return 0;
}

static size_t base64(const unsigned char* from, size_t size, char* to) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  char* start_of = to;
  for (; size > 0; from += 3) {
    const unsigned word =
        (unsigned)from[0] << 16 | (size > 1 ? (unsigned)from[1] << 8 : 0u) | (size > 2 ? from[2] : 0u);
    *to++ = digits[word >> 18];
    *to++ = digits[word >> 12 & 63];
    *to++ = size > 1 ? digits[word >> 6 & 63] : '=';
    *to++ = size > 2 ? digits[word & 63] : '=';
    size -= size > 3 ? 3 : size;
  }
  return (size_t)(to - start_of);
}

static size_t frame_header(char* to, int opcode, size_t size) {
  to[0] = (char)(0x80 | opcode);
  const int bytes = size < 126 ? 0 : size < 65536 ? 2 : 8;
  to[1] = (char)(bytes == 0 ? size : bytes == 2 ? 126 : 127);
  for (int i = 0; i < bytes; ++i) {
    to[2 + i] = (char)(size >> 8 * (bytes - 1 - i));
  }
  return 2 + (size_t)bytes;
}

/* Sends `size` bytes at `data`, which has kRoom writable bytes on both sides, as one chunk or one frame. */
static int send_piece(int to, Form form, char* data, size_t size) {
  char header[kRoom];
  size_t length = 0;
  if (form == kChunks || form == kNdjson) {
    length = (size_t)snprintf(header, sizeof header, "%zx\r\n", size);
    memcpy(data + size, "\r\n", 2);
    memcpy(data - length, header, length);
    return send_all(to, data - length, length + size + 2);
  }
  length = frame_header(header, form == kFrames ? 2 : 1, size);
  memcpy(data - length, header, length);
  return send_all(to, data - length, length + size);
}

static int send_output(Connection* connection, Form form, uint64_t offset, size_t size) {
  char* data = connection->buffer + kRoom;
  if (form == kChunks) {
    return send_piece(connection->socket, form, data, size);
  }
  if (form == kFrames) {
    char* header = data - 24; /* version 1, kind 1 (output), stream 1; channel and time 0 */
    memset(header, 0, 24);
    memcpy(header, "\1\1\1", 3);
    for (int i = 0; i < 8; ++i) {
      header[8 + i] = (char)(offset >> 8 * (7 - i));
    }
    return send_piece(connection->socket, form, header, size + 24);
  }
  if (connection->encoded == NULL && (connection->encoded = malloc(2 * kRead)) == NULL) {
    return -1;
  }
  char* text = connection->encoded + kRoom;
  size_t length = (size_t)sprintf(
      text, "{\"type\":\"output\",\"offset\":%llu,\"next\":%llu,\"stream\":\"stdout\",\"data_base64\":\"",
      (unsigned long long)offset, (unsigned long long)(offset + size));
  length += base64((const unsigned char*)data, size, text + length);
  length += (size_t)sprintf(text + length, form == kNdjson ? "\"}\n" : "\"}");
  return send_piece(connection->socket, form, text, length);
}

static const char kExit[] = "{\"type\":\"exit\",\"exit_code\":0,\"signal\":null,\"cause\":\"exited\"}";

static int send_end(int to, Form form) {
  char last[kRoom + 160 + kRoom];
  char* text = last + kRoom;
  const int length = snprintf(text, 160, form == kNdjson ? "%s\n" : "%s", kExit);
  if (form == kChunks) {
    return send_text(to, "0\r\nX-Exit-Code: 0\r\n\r\n");
  }
  if (send_piece(to, form == kFrames ? kJsonFrames : form, text, (size_t)length) != 0) {
    return -1;
  }
  return form == kNdjson ? send_text(to, "0\r\n\r\n") : send_all(to, "\x88\x02\x03\xe8", 4);
}

/* STREAM: sends the child's output as it comes. -1 ends the connection. */
static int stream(Connection* connection, Child* child, Form form) {
  int from = -1;
  const pid_t pid = start(connection, child, kPipe, &from);
  if (pid < 0) {
    return -1;
  }
  const char* head = form == kChunks   ? "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
                                         "Transfer-Encoding: chunked\r\nTrailer: X-Exit-Code\r\n\r\n"
                     : form == kNdjson ? "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
                                         "Transfer-Encoding: chunked\r\n\r\n"
                                       : "";
  int result = send_text(connection->socket, head);
  uint64_t offset = 0;
  while (result == 0) {
    const ssize_t got = read(from, connection->buffer + kRoom, kRead);
    if (got <= 0) {
      break;
    }
    result = send_output(connection, form, offset, (size_t)got);
    offset += (uint64_t)got;
  }
  close(from);
  if (result != 0) {
    kill(pid, SIGKILL);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return result != 0 || status != 0 ? -1 : send_end(connection->socket, form);
}

/* WAIT: sends all output in one response of a fixed form. */
static int wait_for(Connection* connection, Child* child) {
  int from = -1;
  const pid_t pid = start(connection, child, 0, &from);
  char* output = connection->buffer;
  size_t size = 0;
  for (ssize_t got = 1; pid > 0 && got > 0 && size < kRead; size += (size_t)got) {
    got = read(from, output + size, kRead - size);
    got = got < 0 ? 0 : got;
  }
  output[size] = 0;
  close(from);
  int status = 0;
  waitpid(pid, &status, 0);
  char body[4096], answer[4096 + 128];
  const int length = snprintf(body, sizeof body,
                              "{\"id\":\"0\",\"state\":\"ended\",\"cause\":\"exited\",\"exit_code\":%d,\"signal\":null,"
                              "\"stdout\":\"%.2048s\",\"stderr\":\"\",\"output_complete\":true}",
                              WEXITSTATUS(status), output);
  snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
           length, body);
  return send_text(connection->socket, answer);
}

static int upgrade(Connection* connection, Child* child) {
  const Form form = strstr(connection->request, "skiff.v1.binary") != NULL ? kFrames : kJsonFrames;
  const int known = strstr(connection->request, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n") != NULL;
  if (!known || command_in_target(connection->request, child) != 0) {
    return -1;
  }
  char answer[512];
  snprintf(answer, sizeof answer,
           "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: %s\r\n\r\n",
           form == kFrames ? "skiff.v1.binary" : "skiff.v1.json");
  if (send_text(connection->socket, answer) == 0 && stream(connection, child, form) == 0) {
    char closing[64];
    (void)!recv(connection->socket, closing, sizeof closing, 0); /* the other side's close frame */
  }
  return -1;
}

/* Returns the target's text after `route`; NULL for another route. */
static char* path_after(char* request, const char* route) {
  char* target = strchr(request, ' ') + 1;
  char* end = strchr(target, ' ');
  if (strncmp(target, route, strlen(route)) != 0 || end == NULL) {
    return NULL;
  }
  *end = 0;
  return target + strlen(route);
}

static const char kFile[] = "/v1/sessions/default/files/", kList[] = "/v1/sessions/default/files:list?path=";

static int answer(Connection* connection, char* body) {
  static const char health[] =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"status\":\"ok\"}";
  Child child = {.argv = {NULL}};
  if (strncmp(connection->request, "GET /healthz ", 13) == 0) {
    return send_all(connection->socket, health, sizeof health - 1);
  }
  if (strncmp(connection->request, "GET ", 4) == 0) {
    const char* path = path_after(connection->request, kFile);
    if (path != NULL) {
      return download(connection->socket, path, connection->buffer, kRead);
    }
    path = path_after(connection->request, kList);
    return path != NULL ? list_folder(connection->socket, path, connection->buffer, kRead)
                        : upgrade(connection, &child);
  }
  const int streamed = strstr(body, "\"mode\":\"stream\"") != NULL;
  const Form form = strstr(connection->request, "x-ndjson") != NULL ? kNdjson : kChunks;
  if (command_in_json(body, &child) != 0) {
    return -1;
  }
  return streamed ? stream(connection, &child, form) : wait_for(connection, &child);
}

static void* serve(void* argument) {
  Connection* connection = argument;
  size_t size = 0;
  for (;;) {
    const ssize_t got = recv(connection->socket, connection->request + size, kRequest - size, 0);
    if (got <= 0) {
      break;
    }
    size += (size_t)got;
    connection->request[size] = 0;
    char* body = strstr(connection->request, "\r\n\r\n");
    if (body == NULL) {
      continue;
    }
    body += 4;
    const char* length = strstr(connection->request, "\r\nContent-Length: ");
    const size_t body_size = length == NULL ? 0 : strtoul(length + 18, NULL, 10);
    const size_t begun = size - (size_t)(body - connection->request);
    if (begun > body_size) { /* one request at a time */
      break;
    }
    if (strncmp(connection->request, "PUT ", 4) == 0) {
      const char* path = path_after(connection->request, kFile);
      if (path == NULL || upload(connection->socket, path, body, begun, body_size, connection->buffer, kRead) != 0) {
        break;
      }
    } else if (begun < body_size) {
      continue;
    } else if (answer(connection, body) != 0) {
      break;
    }
    size = 0;
  }
  close(connection->socket);
  munmap(connection->stack, kStack);
  free(connection->request);
  free(connection->buffer);
  free(connection->encoded);
  free(connection);
  return NULL;
}

int main(int count, char** arguments) {
  with_sessions = count > 1 && strcmp(arguments[1], "--sessions") == 0;
  struct sockaddr_in address = {.sin_family = AF_INET};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  null = open("/dev/null", O_RDWR | O_CLOEXEC);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, (struct sockaddr*)&address, length) != 0 || listen(listener, 1024) != 0 ||
      getsockname(listener, (struct sockaddr*)&address, &length) != 0) {
    stop("bare_server");
  }
  printf("bare_server listening on http://127.0.0.1:%u\n", ntohs(address.sin_port));
  fflush(stdout);

  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 128 * 1024);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  for (;;) {
    const int on = 1;
    Connection* connection = calloc(1, sizeof *connection);
    connection->socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    connection->request = malloc(kRequest + 1);
    connection->buffer = malloc(kRoom + kRead + kRoom);
    connection->stack = mmap(NULL, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    pthread_t thread;
    if (connection->socket < 0 || connection->stack == MAP_FAILED) {
      stop("accept");
    }
    setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (pthread_create(&thread, &attributes, serve, connection) != 0) {
      stop("pthread_create");
    }
  }
}
