#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/websocket/socket.hpp"

/// Frames that an agent sends on /v1/connect.
namespace skiff::test {

inline protocol::WebSocket::Message text_frame(std::string_view text) {
  return {.kind = protocol::WebSocket::Kind::text, .payload = std::string{text}};
}

/// A frame of skiff.v1.binary with output.
inline protocol::WebSocket::Message output_frame(unsigned char stream, std::uint64_t offset, std::string_view bytes) {
  std::string frame(24, '\0');
  frame[0] = 1;
  frame[1] = 1;
  frame[2] = static_cast<char>(stream);
  frame[7] = 1;  // the channel
  for (std::size_t i = 0; i < 8; ++i) frame[15 - i] = static_cast<char>(offset >> (8 * i));
  frame += bytes;
  return {.kind = protocol::WebSocket::Kind::binary, .payload = std::move(frame)};
}

}  // namespace skiff::test
