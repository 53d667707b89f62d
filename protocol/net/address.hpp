#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace skiff::protocol {

/// An address to listen on or connect to: an IPv4 or IPv6 literal with a port, the path of a Unix socket, or, only to
/// listen on, the number of an inherited descriptor. It never
/// resolves names: a static binary has no resolver (getaddrinfo(3) needs shared libraries).
class Address {
 public:
  Address() = default;

  /// Parses "127.0.0.1:7070", "[::1]:0", "unix:/run/skiff.sock" (at most 107 bytes, unix(7)), "fd:3". Errors:
  /// `invalid_field`.
  [[nodiscard]] static Result<Address> parse(std::string_view text);
  /// `host` is a literal with or without brackets.
  [[nodiscard]] static Result<Address> ip(std::string_view host, std::uint16_t port);
  /// Converts a socket's address. IPv4 on a socket of both families (::ffff:192.0.2.1) becomes IPv4.
  [[nodiscard]] static Address from_socket(const sockaddr_storage& storage, socklen_t length);

  /// Returns the form that `parse` reads; "unix:" for a peer without a name.
  [[nodiscard]] std::string text() const;
  /// Returns the address without port and brackets; empty for a Unix socket.
  [[nodiscard]] std::string host() const;
  /// Returns the port; 0 for a Unix socket.
  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] bool is_unix() const noexcept { return storage_.ss_family == AF_UNIX; }
  /// Whether it is in 127.0.0.0/8, ::1, or a Unix socket.
  [[nodiscard]] bool is_loopback() const noexcept;
  /// Whether it is 0.0.0.0 or [::].
  [[nodiscard]] bool is_any() const noexcept;
  /// Returns the number of the inherited descriptor, which is a Unix socket; else -1.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Returns the path of a Unix socket, else an empty text.
  [[nodiscard]] std::string path() const;

  [[nodiscard]] int family() const noexcept { return storage_.ss_family; }
  [[nodiscard]] const sockaddr* data() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
  [[nodiscard]] socklen_t size() const noexcept { return length_; }

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
  int descriptor_ = -1;
};

}  // namespace skiff::protocol
