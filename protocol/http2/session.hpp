#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/async/task.hpp"
#include "protocol/http2/meter.hpp"
#include "protocol/http2/stream.hpp"

struct nghttp2_session;

namespace skiff::protocol {

/// What one client may have of a session. A client sees the first four as SETTINGS (RFC 9113, 6.5.2).
struct Http2Limits {
  std::uint32_t streams = 256;                    ///< at the same time; what is above it is refused
  std::uint32_t header_list_bytes = 32 * 1024;    ///< of a request; what is above it is reset, ENHANCE_YOUR_CALM
  std::uint32_t stream_window = 256 * 1024;       ///< bytes of a request that nobody has read yet
  std::uint32_t connection_window = 1024 * 1024;  ///< of all requests together
  std::uint32_t continuations = 8;                ///< frames that a header section may be cut into, after the first
  std::size_t queued_frames = 4'096;              ///< of ours that wait because the client takes nothing
  FrameMeter::Rate frames = {};
};

/// The server's side of one HTTP/2 connection (RFC 9113) without its I/O: bytes in, requests and bytes out. Whatever
/// comes in, its memory is bounded by the limits, and a client that only keeps it busy (pings, settings, resets and
/// continuations without end) is told ENHANCE_YOUR_CALM. Flow control goes both ways: a window is given back only for
/// bytes that were read, and a response's bytes are taken only as the client's windows allow. Over libnghttp2. Reactor
/// thread only.
class Http2Session {
 public:
  Http2Session(Executor executor, const Http2Limits& limits);
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  /// Takes what the client sent.
  void feed(std::string_view bytes);
  /// The requests that have begun since the last call and are not over.
  [[nodiscard]] std::vector<std::shared_ptr<Http2Stream>> take_requests();
  /// Appends what is to be sent, until `out` has at least `enough` bytes or there is no more now.
  void produce(std::string& out, std::size_t enough);

  /// The client's first SETTINGS frame has come: it speaks HTTP/2.
  [[nodiscard]] bool greeted() const noexcept { return greeted_; }
  /// False once nothing more is to be read: it failed, or both sides have said that they are done.
  [[nodiscard]] bool reads() const noexcept;
  /// True when GOAWAY was sent and no stream is left, or it failed: what `produce` gives now is the last.
  [[nodiscard]] bool finished() const noexcept;
  /// Bytes that were received and are kept: fields of heads that nobody has read to the end, bodies that nobody reads.
  [[nodiscard]] std::size_t held() const noexcept { return held_; }
  /// Lets go of a stream's head.
  void forget_head(Http2Stream& stream) noexcept;
  /// Ends the connection of a client that makes others wait.
  void calm_down() { fail(Http2Code::enhance_your_calm); }
  /// Streams that are not over.
  [[nodiscard]] std::size_t streams() const noexcept { return streams_.size(); }

  // --- the answers ---

  /// Queues a response's head. `with_body`: `write` and `end` follow; else it is the whole response.
  void respond(Http2Stream& stream, const Headers& head, unsigned status, bool with_body);
  /// The stream's outbox or trailers have changed.
  void resume(Http2Stream& stream);
  /// So many bytes of its inbox were read: the client may send as many more.
  void consumed(Http2Stream& stream, std::size_t bytes);
  /// Ends a stream that is not over. What the client still sends for it is thrown away.
  void reset(Http2Stream& stream, Http2Code code);

  // --- the connection ---

  /// Asks for a sign of life.
  void ping();
  /// Tells the client that no further stream is taken (GOAWAY). Those that have begun go on.
  void go_away();
  /// Ends every stream: the connection is gone.
  void abandon();

 private:
  struct Callbacks;
  struct Delete {
    void operator()(nghttp2_session* session) const noexcept;
  };

  void fail(Http2Code code);
  [[nodiscard]] bool admit(unsigned type, unsigned flags, std::size_t length);
  [[nodiscard]] int admit_stream(std::int32_t id);
  [[nodiscard]] int take_field(std::int32_t id, std::string_view name, std::string_view value);
  void close(Http2Stream& stream, Http2Code code);
  [[nodiscard]] Http2Stream* find(std::int32_t id) const;

  Executor executor_;
  Http2Limits limits_;
  FrameMeter meter_;
  std::unique_ptr<nghttp2_session, Delete> session_;
  std::unordered_map<std::int32_t, std::shared_ptr<Http2Stream>> streams_;
  std::vector<std::shared_ptr<Http2Stream>> requests_;
  std::string* out_ = nullptr;  ///< within `produce`
  std::size_t enough_ = 0;      ///< the same
  std::string greeting_;        ///< our SETTINGS, until they are sent
  std::string last_words_;      ///< GOAWAY after a failure, when the library is no longer to be asked
  std::size_t held_ = 0;
  std::uint32_t continuations_ = 0;
  bool greeted_ = false;
  bool calm_down_ = false;  ///< the meter, or a header section in too many pieces
  bool failed_ = false;
  bool going_ = false;
};

}  // namespace skiff::protocol
