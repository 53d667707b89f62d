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

#include "base/error.hpp"
#include "base/task.hpp"
#include "protocol/http/exchange.hpp"
#include "protocol/http/message.hpp"
#include "protocol/net/address.hpp"
#include "protocol/net/stream.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::protocol {

/// Turns a name into addresses. Given from outside, because only the launcher may link a resolver.
using Resolver = std::function<Task<Result<std::vector<Address>>>(std::string host, std::uint16_t port)>;

/// Gives a connected stream by another way than a socket to an address: through a proxy or a tunnel. `limit` is for all
/// of it.
using Dialer = std::function<Task<Result<Stream>>(std::chrono::milliseconds limit)>;

struct HttpClientOptions {
  std::string host;  ///< a name, or an address literal without brackets; sent as Host
  std::uint16_t port = 0;
  std::string unix_path = {};                      ///< connect here instead; `host` still goes into Host
  std::shared_ptr<TlsContext> tls = nullptr;       ///< a client context: speak TLS
  std::string tls_server_name = {};                ///< default: `host`
  Resolver resolver = {};                          ///< needed when `host` is a name
  Dialer dial = {};                                ///< connects instead; `host` still goes into Host, TLS comes on top
  std::chrono::milliseconds connect_time{10'000};  ///< with the handshake
  std::chrono::milliseconds idle_time{60'000};     ///< longest wait for the next bytes of a response, or to send some
  std::optional<std::chrono::milliseconds> read_idle_time = {};  ///< for the bytes of a response, if it is another
  std::size_t header_bytes = 64 * 1024;                          ///< of a response's head
  bool bare_feeds = false;  ///< see HeadLimits: for servers of others, on a connection that has one request
};

/// What a server that is connected to so gets as Host.
[[nodiscard]] std::string host_field(const HttpClientOptions& options);

/// A whole answer.
struct HttpReply {
  HttpResponseHead head;
  std::string body;
};

/// One HTTP/1.1 connection of a client, used for one request after the other; it connects by itself, and again when the
/// server has closed it. One on which the answer came before the request was sent whole is not used again. Reactor
/// thread only. Errors: `io_error` (also for an answer that ends before it is whole), `timeout`, `cancelled`,
/// `invalid_request` (the server speaks nonsense), `payload_too_large`, `unauthenticated` (its certificate is not the
/// right one).
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

  /// Connects if there is no connection, so that a failure here means that nothing was sent.
  [[nodiscard]] Task<Result<>> connect();

  /// Sends, and reads the whole answer, of which the body may have up to `body_limit` bytes. A GET, HEAD,
  /// PUT or DELETE on a kept connection that the server closed without a byte of answer is sent once more on a new one,
  /// and so is a GET or HEAD whose answer was cut.
  [[nodiscard]] Task<Result<HttpReply>> request(Request request, std::size_t body_limit = 16 * 1024 * 1024);

  // --- the same in steps, for streams -------------------------------------------------------------------------------
  /// Sends head and body and reads the answer's head (1xx is skipped, except 101). Then read the body to its end, or
  /// `close()`.
  [[nodiscard]] Task<Result<HttpResponseHead>> open(Request request);
  /// Sends the head only; `length` or chunked. Then `write`, `finish`, `read_head`.
  [[nodiscard]] Task<Result<>> start(Request request, std::optional<std::uint64_t> length = {});
  [[nodiscard]] Task<Result<>> write(std::span<const std::string_view> parts);
  [[nodiscard]] Task<Result<>> finish(Headers trailers = {});
  /// `interim` gets each 1xx but 101 before the answer's head; at most 16 come, more are `invalid_request`.
  using Interim = std::function<Task<Result<>>(HttpResponseHead)>;
  [[nodiscard]] Task<Result<HttpResponseHead>> read_head(Interim interim = {});
  /// Whether `read_some` has something at once: bytes that came with those before, or the end.
  [[nodiscard]] bool has_more() const;
  /// Ends when `read_some` may have something. Needs no memory meanwhile.
  [[nodiscard]] Task<Result<>> readable();
  /// The next bytes of the answer's body, 0 at its end.
  [[nodiscard]] Task<Result<std::size_t>> read_some(std::span<char> into);
  [[nodiscard]] Task<Result<std::string>> read_body(std::size_t limit);
  /// Whether a byte of the answer to the last request has come: without one the server may never have seen it.
  [[nodiscard]] bool answer_begun() const noexcept;
  /// Whether the connection broke, or ended in good order, in the middle of the last answer's body: a request that may
  /// be repeated is worth another try.
  [[nodiscard]] bool was_cut() const noexcept;
  /// After the end of a chunked body.
  [[nodiscard]] const Headers& trailers() const noexcept;

  /// Takes the connection away after a 101, or a 2xx to CONNECT, or where no request is under way and `connected()`.
  [[nodiscard]] Upgraded take_upgraded();

  /// A server that has vanished without a word is found out (Stream::probe_peer), on the connection that there is.
  void probe_peer(std::chrono::seconds idle) noexcept;

  /// Ends what is under way; the next request connects anew.
  void close() noexcept;
  [[nodiscard]] bool connected() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Connects a socket to `address`: non-blocking, close-on-exec, TCP_NODELAY.
[[nodiscard]] Task<Result<Stream>> connect(Address address, std::chrono::milliseconds limit, Executor executor);

}  // namespace skiff::protocol
