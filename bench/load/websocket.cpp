#include "bench/load/websocket.hpp"

#include <algorithm>
#include <array>

#include "bench/load/http.hpp"

namespace skiff::bench {

void FrameParser::read_header() {
  const auto byte = [this](std::size_t i) { return static_cast<unsigned char>(header_[i]); };
  final_ = (byte(0) & 0x80) != 0;
  opcode_ = byte(0) & 0x0f;
  if ((byte(0) & 0x70) != 0 || (byte(1) & 0x80) != 0) {
    throw Failure("a frame with reserved bits, or masked by the server");
  }
  left_ = byte(1);
  const std::size_t extra = left_ == 127 ? 8 : left_ == 126 ? 2 : 0;
  for (std::size_t i = 0; i < extra; ++i) {
    left_ = (i == 0 ? 0 : left_ << 8) | byte(2 + i);
  }
  if (opcode_ == 1 || opcode_ == 2) {
    binary_ = opcode_ == 2;
  }
  if (opcode_ > 10 || (opcode_ > 2 && opcode_ < 8) || (opcode_ >= 8 && (!final_ || left_ > 125))) {
    throw Failure("a frame that RFC 6455 doesn't allow");
  }
  ++frames_;
}

void FrameParser::feed(std::string_view data, const Data& on_data, const Control& on_control) {
  while (true) {
    if (!in_payload_) {
      while (!data.empty()) {
        const std::size_t needed = header_.size() < 2 ? 2
                                                      : 2u + ((header_[1] & 127) == 127   ? 8u
                                                              : (header_[1] & 127) == 126 ? 2u
                                                                                          : 0u);
        if (header_.size() == needed) {
          break;
        }
        header_.push_back(data.front());
        data.remove_prefix(1);
      }
      if (header_.size() < 2 || header_.size() < 2u + ((header_[1] & 127) == 127   ? 8u
                                                       : (header_[1] & 127) == 126 ? 2u
                                                                                   : 0u)) {
        return;
      }
      read_header();
      in_payload_ = true;
    }
    const std::size_t size = std::min<std::uint64_t>(left_, data.size());
    if (size == 0 && left_ > 0) {
      return;
    }
    left_ -= size;
    const std::string_view piece = data.substr(0, size);
    data.remove_prefix(size);
    if (opcode_ < 8) {
      on_data(binary_, piece, left_ == 0 && final_);
    } else {
      control_.append(piece);
    }
    if (left_ == 0) {
      in_payload_ = false;
      header_.clear();
      if (opcode_ >= 8) {
        on_control(opcode_, control_);
        control_.clear();
      }
    }
  }
}

std::string client_frame(int opcode, std::string_view payload) {
  constexpr std::array<unsigned char, 4> kMask{0x12, 0x34, 0x56, 0x78};
  std::string frame;
  frame.push_back(static_cast<char>(0x80 | opcode));
  if (payload.size() < 126) {
    frame.push_back(static_cast<char>(0x80 | payload.size()));
  } else if (payload.size() < 65536) {
    frame.push_back(static_cast<char>(0x80 | 126));
    frame.push_back(static_cast<char>(payload.size() >> 8));
    frame.push_back(static_cast<char>(payload.size()));
  } else {
    throw Failure("a message of the client is too long");
  }
  frame.append(kMask.begin(), kMask.end());
  for (std::size_t i = 0; i < payload.size(); ++i) {
    frame.push_back(static_cast<char>(payload[i] ^ static_cast<char>(kMask[i % 4])));
  }
  return frame;
}

void open_websocket(Socket& socket, const Options& options, std::string_view path, std::string_view subprotocol,
                    std::string& rest) {
  std::string headers =
      "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: ";
  headers.append(subprotocol).append("\r\n");
  socket.send(request_text(options, path, "", headers));
  std::string head;
  std::array<char, 65536> buffer;
  std::size_t end = std::string::npos;
  while (end == std::string::npos) {
    const std::size_t got = socket.receive(buffer);
    if (got == 0 || head.size() > 2 * buffer.size()) {
      throw Failure("no answer to the WebSocket handshake: " + head);
    }
    head.append(buffer.data(), got);
    end = head.find("\r\n\r\n");
  }
  rest = head.substr(end + 4);
  head.resize(end + 2);
  if (!head.starts_with("HTTP/1.1 101 ") ||
      header_value(head, "sec-websocket-accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" ||
      header_value(head, "sec-websocket-protocol") != subprotocol) {
    throw Failure("the WebSocket handshake failed: " + head + rest);
  }
}

}  // namespace skiff::bench
