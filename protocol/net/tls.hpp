#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace skiff::protocol {

/// The largest payload of a TLS record (RFC 8446, 5.1).
inline constexpr std::size_t kTlsRecord = 16 * 1024;

/// The result of one step of a non-blocking transfer.
struct IoStep {
  enum class Kind : unsigned char { done, want_read, want_write, end, failed };
  Kind kind = Kind::done;
  std::size_t bytes = 0;
  Error error = {};
};

/// One TLS connection (1.3, or 1.2 with forward secrecy and an AEAD cipher) over a socket that its caller owns. Never
/// blocks, never raises SIGPIPE.
class TlsSession {
 public:
  virtual ~TlsSession() = default;
  [[nodiscard]] virtual IoStep handshake() = 0;
  /// `into` and `from` must not be empty.
  [[nodiscard]] virtual IoStep read(std::span<char> into) = 0;
  /// Sends the next records; returns how many bytes of `from` they hold. After `want_write` the next calls must go
  /// on with the same bytes, in pieces of any size.
  [[nodiscard]] virtual IoStep write(std::string_view from) = 0;
  /// Whether decrypted bytes wait, although the socket may have nothing to read.
  [[nodiscard]] virtual bool pending() const = 0;
  /// Takes bytes that were read from the socket before; they count as its first. Call it before the handshake.
  virtual void begin_with(std::string bytes) = 0;
  /// Sends close_notify if the socket takes it now.
  virtual void shutdown() noexcept = 0;
};

struct TlsServerSettings {
  std::string certificate_file = {};  ///< PEM, leaf first
  std::string key_file = {};          ///< PEM, not encrypted
  std::string certificate_pem = {};   ///< in memory, in place of both files; leaf first
  std::string key_pem = {};
  bool only_http1 = false;  ///< of the protocols that a client offers (ALPN, RFC 7301) it takes http/1.1 and no other
};

struct TlsClientSettings {
  std::string ca_file = {};          ///< trusted certificates, PEM
  std::string ca_pem = {};           ///< trusted certificates in memory, PEM
  bool system_ca = true;             ///< trust the system's store; applies only if both of the above are empty
  std::string further_ca_pem = {};   ///< trusted certificates beside all of the above, PEM; may be empty
  std::string certificate_pem = {};  ///< client certificate chain, may be empty
  std::string key_pem = {};
  /// The next connection to a server goes on with what was agreed on the last one (RFC 8446, 2.2), for as long as the
  /// server allows that. Its certificate was verified then, and is not sent again.
  bool resumes = false;
  bool insecure_skip_verify = false;  ///< accept any certificate: for a kubeconfig that says so
};

/// Certificates and rules that many connections share. Create it only when TLS is in use: it takes 2 to 3 MB.
class TlsContext {
 public:
  [[nodiscard]] static Result<std::shared_ptr<TlsContext>> server(const TlsServerSettings& settings);
  [[nodiscard]] static Result<std::shared_ptr<TlsContext>> client(const TlsClientSettings& settings);
  virtual ~TlsContext() = default;

  /// Creates the session for a connected, non-blocking socket. `server_name` is the name or address literal that the
  /// certificate must match; a server leaves it empty.
  [[nodiscard]] virtual Result<std::unique_ptr<TlsSession>> session(int socket, const std::string& server_name) = 0;
};

}  // namespace skiff::protocol
