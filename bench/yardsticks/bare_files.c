#define _GNU_SOURCE
#include "yardsticks/bare_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kHead = 256, kName = 512, kEntry = 512 };

int download(int to, const char* path, char* buffer, size_t room) {
  char head[kHead];
  struct stat status;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0 || fstat(file, &status) != 0) {
    return -1;
  }
  const int length = snprintf(
      head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: %lld\r\n\r\n",
      (long long)status.st_size);
  int result = send(to, head, (size_t)length, MSG_NOSIGNAL | MSG_MORE) == length ? 0 : -1;
  for (off_t left = status.st_size; result == 0 && left > 0;) {
    const ssize_t got = read(file, buffer, room);
    result = got > 0 ? send_all(to, buffer, (size_t)got) : -1;
    left -= got;
  }
  close(file);
  return result;
}

static int write_all(int file, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(file, data, size);
    if (written <= 0) {
      return -1;
    }
    data += written;
    size -= (size_t)written;
  }
  return 0;
}

int upload(int to, const char* path, const char* begun, size_t begun_size, uint64_t length, char* buffer, size_t room) {
  static const char created[] = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
  char temporary[kName];
  snprintf(temporary, sizeof temporary, "%s.part-%d", path, to);
  const int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) {
    return -1;
  }
  int result = write_all(file, begun, begun_size);
  for (uint64_t left = length - begun_size; result == 0 && left > 0;) {
    const ssize_t got = recv(to, buffer, left < room ? (size_t)left : room, 0);
    result = got > 0 ? write_all(file, buffer, (size_t)got) : -1;
    left -= (uint64_t)(got > 0 ? got : 0);
  }
  close(file);
  if (result != 0 || rename(temporary, path) != 0) {
    unlink(temporary);
    return -1;
  }
  return send_all(to, created, sizeof created - 1);
}

int list_folder(int to, const char* path, char* buffer, size_t room) {
  DIR* folder = opendir(path);
  if (folder == NULL) {
    return -1;
  }
  char* text = buffer + kHead; /* the head is put before it when its length is known */
  size_t size = (size_t)sprintf(text, "{\"items\":[");
  struct stat status;
  for (const struct dirent* entry = readdir(folder); entry != NULL && size + kEntry < room - kHead;
       entry = readdir(folder)) {
    if (entry->d_name[0] == '.' || fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    size += (size_t)sprintf(text + size, "{\"path\":\"%s\",\"size\":%lld,\"mode\":\"%04o\",\"mtime\":%lld.%09ld},",
                            entry->d_name, (long long)status.st_size, status.st_mode & 07777,
                            (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }
  closedir(folder);
  size += (size_t)sprintf(text + size - 1, "]}") - 1; /* over the last comma */
  char head[kHead];
  const size_t length = (size_t)snprintf(
      head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", size);
  memcpy(text - length, head, length);
  return send_all(to, text - length, length + size);
}
