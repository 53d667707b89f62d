#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace skiff::bench {

/// The measurement is invalid; the text says why. main() prints it and exits with 1.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A blocking TCP connection to 127.0.0.1 with TCP_NODELAY.
class Socket {
 public:
  explicit Socket(std::uint16_t port);
  ~Socket();
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&&) = delete;

  void send(std::string_view data);
  /// Returns at least one byte; 0 at the end of the stream.
  std::size_t receive(std::span<char> into);
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

/// Returns the monotonic time in microseconds.
double now_us();

/// Returns the user and system time of this program so far, in seconds.
double own_cpu_seconds();

/// Returns the percentile `fraction` in 0..1; sorts `values`.
double percentile(std::vector<double>& values, double fraction);

}  // namespace skiff::bench
