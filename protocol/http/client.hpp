#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "protocol/http/message.hpp"
#include "protocol/http/upgraded.hpp"
#include "protocol/net/address.hpp"
#include "protocol/net/stream.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::protocol {

/// Resolves a name to addresses. It is injected, because only the launcher may link a resolver.
using Resolver = std::function<Task<Result<std::vector<Address>>>(std::string host, std::uint16_t port)>;

/// Returns a connected stream that is not a socket to an address: through a proxy or a tunnel. `limit` covers the whole
/// attempt.
using Dialer = std::function<Task<Result<Stream>>(std::chrono::milliseconds limit)>;

struct HttpClientOptions {
  std::string host;  ///< a name, or an address literal without brackets; sent as Host
  std::uint16_t port = 0;
  std::string unix_path = {};                      ///< Unix socket to connect to instead; `host` still goes into Host
  std::shared_ptr<TlsContext> tls = nullptr;       ///< client context for TLS; null: no TLS
  std::string tls_server_name = {};                ///< default: `host`
  Resolver resolver = {};                          ///< needed when `host` is a name
  Dialer dial = {};                                ///< connects instead; `host` still goes into Host, TLS runs on top
  std::chrono::milliseconds connect_time{10'000};  ///< limit that includes the handshake
  std::chrono::milliseconds idle_time{60'000};     ///< longest wait for bytes of a response, or to send some
  std::optional<std::chrono::milliseconds> read_idle_time = {};  ///< longest wait for bytes of a response, if different
  std::size_t header_bytes = 64 * 1024;                          ///< limit for the head of a response
  bool bare_feeds = false;  ///< see HeadLimits: for third-party servers, if all answers go to one client
};

/// Returns the Host field for a server with these options.
[[nodiscard]] std::string host_field(const HttpClientOptions& options);

/// A whole response.
struct HttpReply {
  HttpResponseHead head;
  std::string body;
};

/// One HTTP/1.1 client connection for one request after the other. It connects by itself, and reconnects when the
/// server has closed the connection. A connection whose response came before the request was sent whole is not reused.
/// Reactor thread only. Errors: `io_error` (also for a truncated response), `timeout`, `cancelled`, `invalid_request`
/// (an invalid response), `payload_too_large`, `unauthenticated` (the server's certificate is not valid).
class HttpClient {
 public:
  HttpClient(Executor executor, HttpClientOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  struct Request {
    std::string method = "GET";
    std::string target = "/";
    Headers headers = {};  ///< without Host, Content-Length and Transfer-Encoding
    std::string body = {};
  };

  /// Whether there is an idle connection that the server has not ended.
  [[nodiscard]] bool is_reusable();
  /// Connects if there is no connection. A failure here means that no byte was sent.
  [[nodiscard]] Task<Result<>> connect();

  /// Sends a request and reads the whole response, with a body of at most `body_limit` bytes. A GET, HEAD, PUT or
  /// DELETE on a kept connection that the server closed without a byte of response is repeated once on a new
  /// connection, and so is a GET or HEAD whose response was truncated.
  [[nodiscard]] Task<Result<HttpReply>> request(Request request, std::size_t body_limit = 16 * 1024 * 1024);

  // --- the single steps, for streams ---------------------------------------------------------------------------------
  /// Sends head and body and reads the head of the response (1xx is skipped, except 101). Then read the body to its
  /// end, or call `close()`.
  [[nodiscard]] Task<Result<HttpResponseHead>> open(Request request);
  /// Sends the head only, with `length` or chunked. Then call `write`, `finish`, `read_head`.
  [[nodiscard]] Task<Result<>> start(Request request, std::optional<std::uint64_t> length = {});
  [[nodiscard]] Task<Result<>> write(std::span<const std::string_view> parts);
  [[nodiscard]] Task<Result<>> finish(Headers trailers = {});
  /// `interim` gets each 1xx response but 101 before the final head; more than 16 are `invalid_request`.
  using Interim = std::function<Task<Result<>>(HttpResponseHead)>;
  [[nodiscard]] Task<Result<HttpResponseHead>> read_head(Interim interim = {});
  /// Whether `read_some` returns at once: with buffered bytes, or at the end.
  [[nodiscard]] bool has_more() const;
  /// Waits until `read_some` may return bytes. Needs no memory meanwhile.
  [[nodiscard]] Task<Result<>> readable();
  /// Reads the next bytes of the response's body, 0 at its end.
  [[nodiscard]] Task<Result<std::size_t>> read_some(std::span<char> into);
  [[nodiscard]] Task<Result<std::string>> read_body(std::size_t limit);
  /// Whether a byte of the last response has come; without one the server may never have seen the request.
  [[nodiscard]] bool answer_begun() const noexcept;
  /// Whether the connection broke or ended in the middle of the last response's body: a repeatable request is worth
  /// another try.
  [[nodiscard]] bool was_cut() const noexcept;
  /// The trailers; valid after the end of a chunked body.
  [[nodiscard]] const Headers& trailers() const noexcept;

  /// Takes the connection out of the client after a 101, after a 2xx to CONNECT, or when it is `connected()` and idle.
  [[nodiscard]] Upgraded take_upgraded();

  /// Detects a server that has vanished (Stream::probe_peer), on the current connection.
  void probe_peer(std::chrono::seconds idle) noexcept;

  /// Ends the current request; the next one connects again.
  void close() noexcept;
  [[nodiscard]] bool connected() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Connects a socket to `address`: non-blocking, close-on-exec, TCP_NODELAY.
[[nodiscard]] Task<Result<Stream>> connect(Address address, std::chrono::milliseconds limit, Executor executor);

}  // namespace skiff::protocol
