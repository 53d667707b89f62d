// One command that prints a lot, in each form of output streaming. Every byte is compared.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/load/grpc.hpp"
#include "bench/load/http.hpp"
#include "bench/load/options.hpp"
#include "bench/load/socket.hpp"
#include "bench/load/stream.hpp"
#include "bench/load/websocket.hpp"

namespace skiff::bench {

namespace {

void receive_http(Socket& socket, const Options& options, Stream& stream, bool ndjson) {
  const std::string accept = ndjson ? "Accept: application/x-ndjson\r\n" : "Accept: application/octet-stream\r\n";
  socket.send(request_text(options, options.path, options.body, accept));
  std::vector<char> buffer(kPatternBlock);
  ResponseParser response;
  Events events;
  std::string refusal;
  while (!response.done()) {
    const std::size_t got = socket.receive(buffer);
    if (got == 0) {
      throw Failure("the stream was cut at byte " + std::to_string(stream.output.offset()));
    }
    response.feed({buffer.data(), got}, [&](std::string_view piece) {
      if (response.status() != 200) {
        refusal.append(piece);
      } else if (ndjson) {
        events.feed_lines(piece, stream);
      } else {
        stream.take(piece);
      }
    });
  }
  if (response.status() != 200) {
    throw Failure(response.head() + refusal);
  }
  if (!ndjson) {
    stream.exited = header_value(response.trailers(), "x-exit-code") == "0";
    stream.messages = response.chunks();
  }
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                       c == '-' || c == '.' || c == '_';
    char hex[4];
    std::snprintf(hex, sizeof hex, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
    plain ? encoded.push_back(c) : static_cast<void>(encoded.append(hex));
  }
  return encoded;
}

/// skiff.v1.binary: 24 bytes of header, then output.
class BinaryMessages {
 public:
  void feed(std::string_view piece, bool last, Stream& stream) {
    const std::size_t missing = std::min(kHeader - header_.size(), piece.size());
    if (missing > 0) {
      header_.append(piece.substr(0, missing));
      piece.remove_prefix(missing);
      if (header_.size() == kHeader) {
        check_header(stream);
      }
    }
    if (!piece.empty()) {
      stream.take(piece);
    }
    if (last) {
      if (header_.size() < kHeader) {
        throw Failure("a binary frame that is shorter than its header");
      }
      header_.clear();
      ++stream.messages;
    }
  }

 private:
  static constexpr std::size_t kHeader = 24;

  void check_header(const Stream& stream) const {
    std::uint64_t offset = 0;
    for (std::size_t i = 8; i < 16; ++i) {
      offset = offset << 8 | static_cast<unsigned char>(header_[i]);
    }
    if (!header_.starts_with("\1\1\1") || offset != stream.output.offset()) {
      throw Failure("a binary frame with a wrong version, kind, stream or offset, at byte " +
                    std::to_string(stream.output.offset()));
    }
  }

  std::string header_;
};

void receive_websocket(Socket& socket, const Options& options, Stream& stream, bool binary) {
  const std::string path = "/v1/sessions/default/run?command=" + percent_encoded(options.command);
  std::string rest;
  open_websocket(socket, options, path, binary ? "skiff.v1.binary" : "skiff.v1.json", rest);
  std::vector<char> buffer(kPatternBlock);
  FrameParser frames;
  BinaryMessages messages;
  Events events;
  bool closed = false;
  const auto on_data = [&](bool is_binary, std::string_view piece, bool last) {
    if (is_binary) {
      messages.feed(piece, last, stream);
    } else {
      events.feed_frame(piece, last, stream);
    }
  };
  const auto on_control = [&](int opcode, std::string_view payload) {
    if (opcode == 9) {
      socket.send(client_frame(10, payload));
    } else if (opcode == 8) {
      if (!payload.starts_with("\x03\xe8")) {
        throw Failure("closed with another code than 1000");
      }
      socket.send(client_frame(8, payload.substr(0, 2)));
      closed = true;
    }
  };
  frames.feed(rest, on_data, on_control);
  while (!closed) {
    const std::size_t got = socket.receive(buffer);
    if (got == 0) {
      throw Failure("the stream was cut at byte " + std::to_string(stream.output.offset()));
    }
    frames.feed({buffer.data(), got}, on_data, on_control);
  }
}

}  // namespace

void run_bulk(const Options& options) {
  PatternBlock block(pattern_named(options.pattern));
  Stream stream(block);
  const double before = now_us(), cpu_before = own_cpu_seconds();
  if (options.form == "octet" || options.form == "ndjson") {
    Socket socket(options.port);
    receive_http(socket, options, stream, options.form == "ndjson");
  } else if (options.form == "ws-binary" || options.form == "ws-json") {
    Socket socket(options.port);
    receive_websocket(socket, options, stream, options.form == "ws-binary");
  } else if (options.form == "grpc") {
    receive_grpc(options.port, options.command, stream);
  } else {
    throw Failure("no such form: " + options.form);
  }
  const double took = (now_us() - before) / 1e6;
  const auto bytes = stream.output.offset();
  if (bytes != options.bytes || !stream.exited) {
    throw Failure(std::to_string(bytes) + " bytes came of " + std::to_string(options.bytes) +
                  (stream.exited ? "" : ", and no exit with code 0"));
  }
  std::printf(
      "{\"bytes\":%llu,\"seconds\":%.6f,\"mb_per_s\":%.1f,\"messages\":%llu,\"first_byte_us\":%.1f,"
      "\"client_cpu_s_per_gb\":%.3f}\n",
      static_cast<unsigned long long>(bytes), took, static_cast<double>(bytes) / took / 1e6,
      static_cast<unsigned long long>(stream.messages), stream.first - before,
      (own_cpu_seconds() - cpu_before) * 1e9 / static_cast<double>(bytes));
}

}  // namespace skiff::bench
