#pragma once

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/unique_fd.hpp"
#include "sessions/spawn/spawn.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/pipe.hpp"

/// Real children for tests.
namespace skiff::test {

inline constexpr std::chrono::seconds kPatience{20};

/// A request for testcmd with these words, with /dev/null as stdin and stderr, and `out` as stdout.
inline sessions::SpawnRequest testcmd(std::vector<std::string> words, UniqueFd out = {}) {
  sessions::SpawnRequest request;
  request.argv = std::move(words);
  request.argv.insert(request.argv.begin(), kTestcmd);
  request.env = {"PATH=/usr/bin:/bin"};
  request.cwd = "/";
  request.out = std::move(out);
  return request;
}

/// Waits for input with a watchdog.
inline bool readable(int fd) {
  pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, static_cast<int>(std::chrono::milliseconds{kPatience}.count())) == 1;
}

inline std::string read_line(int fd) {
  std::string line;
  for (char byte = 0; readable(fd) && ::read(fd, &byte, 1) == 1 && byte != '\n';) line += byte;
  return line;
}

inline std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    if (!readable(fd)) {
      ADD_FAILURE() << "no end of output in time; so far: " << text;
      return text;
    }
    const ssize_t size = ::read(fd, buffer, sizeof buffer);
    if (size <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(size));
  }
}

/// Looks again until `condition()` holds: for what the kernel tells nobody. False when it does not in time.
template <class Condition>
bool eventually(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

/// A child that this thread waits for. Killed when it still lives at the end.
class Child {
 public:
  explicit Child(sessions::SpawnRequest request) {
    auto spawned = sessions::Spawner::spawn_here(request);
    if (spawned) {
      pid_ = *spawned;
    } else {
      ADD_FAILURE() << "spawn: " << spawned.error().message;
    }
  }
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  /// As wait(2) gives it.
  int wait() {
    int status = -1;
    if (pid_ > 0) ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }

 private:
  pid_t pid_ = -1;
};

struct Ran {
  std::string out;
  int status = -1;
};

/// Runs it to its end.
inline Ran run(sessions::SpawnRequest request) {
  Pipe pipe = create_pipe();
  request.out = std::move(pipe.write);
  Child child{std::move(request)};
  Ran ran;
  ran.out = read_all(pipe.read.get());
  ran.status = child.wait();
  return ran;
}

/// Another one each time.
inline sessions::Tag new_tag() {
  static sessions::TagSource tags;
  return tags.next();
}

/// A child with a tag, after it has said its first line.
struct Tagged {
  explicit Tagged(std::vector<std::string> words, std::optional<sessions::Credentials> user = std::nullopt) {
    sessions::SpawnRequest request = testcmd(std::move(words));
    request.tag = tag;
    request.user = std::move(user);
    auto [read, write] = create_pipe();
    request.out = std::move(write);
    out = std::move(read);
    child.emplace(std::move(request));
    line = read_line(out.get());
  }
  sessions::Tag tag = new_tag();
  UniqueFd out;
  std::optional<Child> child;
  std::string line;
};

}  // namespace skiff::test
