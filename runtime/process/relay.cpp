#include "runtime/process/relay.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::runtime {
namespace {

constexpr std::size_t kRelayPiece = std::size_t{64} << 10U;

/// One direction: bytes that were read and not written yet. Its descriptors do not block, so that a full peer of one
/// direction does not stop the other one.
class Direction {
 public:
  Direction(int from, int to) : from_{from}, to_{to} {}

  /// The events to wait for now; poll(2) skips an entry whose descriptor is -1.
  [[nodiscard]] pollfd wanted() const noexcept {
    if (has_ended_) return {.fd = -1, .events = 0, .revents = 0};
    return rest_.empty() ? pollfd{.fd = from_, .events = POLLIN, .revents = 0}
                         : pollfd{.fd = to_, .events = POLLOUT, .revents = 0};
  }
  /// Reads or writes once.
  void go_on() {
    const ssize_t done =
        rest_.empty() ? ::read(from_, piece_.data(), piece_.size()) : ::write(to_, rest_.data(), rest_.size());
    if (done < 0) {
      is_broken_ = errno != EINTR && errno != EAGAIN;
    } else if (rest_.empty()) {
      rest_ = {piece_.data(), static_cast<std::size_t>(done)};
    } else {
      rest_.remove_prefix(static_cast<std::size_t>(done));
      return;
    }
    has_ended_ = is_broken_ || (done == 0 && rest_.empty());
  }
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }
  [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }

 private:
  int from_;
  int to_;
  std::array<char, kRelayPiece> piece_{};
  std::string_view rest_;
  bool has_ended_ = false;
  bool is_broken_ = false;
};

void make_non_blocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace

bool carry_both_ways(int input, int output, int socket) {
  for (const int fd : {input, output, socket}) make_non_blocking(fd);
  Direction request{input, socket};
  Direction answer{socket, output};
  // The answer may outlast the request, and nothing outlasts the answer.
  while (!answer.has_ended()) {
    std::array<pollfd, 2> wanted{request.wanted(), answer.wanted()};
    if (::poll(wanted.data(), wanted.size(), -1) < 0 && errno != EINTR) return false;
    if (wanted[0].revents != 0) {
      request.go_on();
      if (request.has_ended()) ::shutdown(socket, SHUT_WR);
    }
    if (wanted[1].revents != 0) answer.go_on();
  }
  return !request.is_broken() && !answer.is_broken();
}

int relay(std::span<const char* const> arguments) {
  std::uint16_t port = 0;
  const std::string_view text = arguments.empty() ? std::string_view{} : std::string_view{arguments.front()};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (arguments.size() != 1 || error != std::errc{} || end != text.data() + text.size() || port == 0) {
    std::fputs("skiffd: relay takes one port\n", stderr);
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  const UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // The kernel's interface takes any kind of address by one type (bind(2)).
  const auto* const any = reinterpret_cast<const sockaddr*>(&address);
  if (!socket || ::connect(socket.get(), any, sizeof address) != 0) {
    std::fprintf(stderr, "skiffd: relay: %s\n", system_error(errno, "connect to 127.0.0.1").message.c_str());
    return 1;
  }
  return carry_both_ways(STDIN_FILENO, STDOUT_FILENO, socket.get()) ? 0 : 1;
}

}  // namespace skiff::runtime
