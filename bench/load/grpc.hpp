#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "bench/load/socket.hpp"
#include "bench/load/stream.hpp"

namespace skiff::bench {

/// Splits frames of HTTP/2 (RFC 9113, 4.1) that arrive in arbitrary pieces.
class Http2Frames {
 public:
  static constexpr std::uint8_t kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kPing = 6, kGoAway = 7, kWindow = 8;
  static constexpr std::uint8_t kAck = 1, kEndStream = 1;  ///< flags

  using OnData = std::function<void(std::string_view)>;
  using OnFrame = std::function<void(std::uint8_t type, std::uint8_t flags, const std::string& payload)>;

  /// Passes the payload of DATA to `on_data` piece by piece, and other payloads whole to `on_frame`, which also gets
  /// the end of DATA. Throws Failure when DATA is padded.
  void feed(std::string_view data, const OnData& on_data, const OnFrame& on_frame);

 private:
  std::string head_, payload_;
  std::size_t left_ = 0;
};

/// Splits the messages of process.v1's Start, and passes their content to a Stream.
class StartMessages {
 public:
  void feed(std::string_view data, Stream& stream);

 private:
  std::string head_;  ///< length prefix, field and its length
  std::uint64_t left_ = 0;
};

/// One call after another on a connection. Its windows have the largest size, so that no WINDOW_UPDATE is needed.
class GrpcConnection {
 public:
  explicit GrpcConnection(std::uint16_t port);

  /// Waits for the end of the response; its messages go to `sink` with their length prefixes. Throws Failure.
  void call(std::string_view method, std::string_view message, const Http2Frames::OnData& sink);

 private:
  Socket socket_;
  Http2Frames frames_;
  std::uint32_t stream_ = 1;
};

/// Returns a StartRequest or ExecuteRequest, which are alike so far, for the words of a line.
std::string process_request(std::string_view line);

/// Runs a command by Start and passes its output to `stream`.
void receive_grpc(std::uint16_t port, const std::string& command, Stream& stream);

}  // namespace skiff::bench
