#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "bench/load/options.hpp"
#include "bench/load/socket.hpp"

namespace skiff::bench {

/// Splits frames that arrive in pieces (RFC 6455, the client's side: the server's frames are not masked).
class FrameParser {
 public:
  /// A piece of a message; `last` marks its end. Messages without payload come as one empty piece.
  using Data = std::function<void(bool binary, std::string_view piece, bool last)>;
  /// A ping (9), pong (10) or close (8).
  using Control = std::function<void(int opcode, std::string_view payload)>;

  void feed(std::string_view data, const Data& on_data, const Control& on_control);
  [[nodiscard]] std::uint64_t frames() const { return frames_; }

 private:
  void read_header();

  std::string header_;   // incomplete header of the current frame
  std::string control_;  // payload of a control frame
  std::uint64_t left_ = 0, frames_ = 0;
  bool in_payload_ = false, final_ = false, binary_ = false;
  int opcode_ = 0;
};

/// Returns a masked frame of the client.
std::string client_frame(int opcode, std::string_view payload);

/// Does the handshake. The key is that of RFC 6455 1.3, so that the response is known without a hash. Bytes after the
/// response go to `rest`.
void open_websocket(Socket& socket, const Options& options, std::string_view path, std::string_view subprotocol,
                    std::string& rest);

}  // namespace skiff::bench
