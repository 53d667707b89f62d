// The gRPC that the dialect sandboxd needs, without a library whose cost would be measured, too.

#include "bench/load/grpc.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "bench/load/options.hpp"

namespace skiff::bench {

namespace {

constexpr std::size_t kFrameHead = 9, kPrefix = 5;
constexpr std::uint32_t kLargestWindow = (1u << 31) - 1;
constexpr char kBytesOfOut = 0x12, kExit = 0x22;  // fields of StartResponse: their numbers and wire types

std::string big_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    text.push_back(static_cast<char>(value >> shift));
  }
  return text;
}

std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream, std::string_view payload) {
  std::string text = big_endian(payload.size(), 3);
  text.push_back(static_cast<char>(type));
  text.push_back(static_cast<char>(flags));
  return text.append(big_endian(stream, 4)).append(payload);
}

/// Appends a header field without a table and without Huffman's code (RFC 7541, 6.2.2).
void append_header(std::string& block, std::string_view name, std::string_view value) {
  block.push_back('\0');
  for (const std::string_view text : {name, value}) {
    if (text.size() > 126) {
      throw Failure("a header field that is too long: " + std::string(text));
    }
    block.push_back(static_cast<char>(text.size()));
    block.append(text);
  }
}

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value > 127; value >>= 7) {
    text.push_back(static_cast<char>(value | 128));
  }
  text.push_back(static_cast<char>(value));
  return text;
}

std::string field(int number, std::string_view value) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2).append(varint(value.size())).append(value);
}

}  // namespace

void Http2Frames::feed(std::string_view data, const OnData& on_data, const OnFrame& on_frame) {
  while (!data.empty()) {
    if (head_.size() < kFrameHead) {
      const std::size_t missing = std::min(kFrameHead - head_.size(), data.size());
      head_.append(data.substr(0, missing));
      data.remove_prefix(missing);
      if (head_.size() < kFrameHead) {
        return;
      }
      for (int i = 0; i < 3; ++i) {
        left_ = left_ << 8 | static_cast<unsigned char>(head_[static_cast<std::size_t>(i)]);
      }
    }
    const auto type = static_cast<std::uint8_t>(head_[3]), flags = static_cast<std::uint8_t>(head_[4]);
    const std::string_view piece = data.substr(0, left_);
    if (type != kData) {
      payload_.append(piece);
    } else if ((flags & 8) != 0) {
      throw Failure("a frame of DATA with padding");
    } else if (!piece.empty()) {
      on_data(piece);
    }
    data.remove_prefix(piece.size());
    left_ -= piece.size();
    if (left_ == 0) {
      on_frame(type, flags, payload_);
      payload_.clear();
      head_.clear();
    }
  }
}

void StartMessages::feed(std::string_view data, Stream& stream) {
  while (!data.empty()) {
    if (left_ > 0) {
      const std::string_view piece = data.substr(0, left_);
      if (head_[kPrefix] == kBytesOfOut) {
        stream.take(piece);
      }
      data.remove_prefix(piece.size());
      left_ -= piece.size();
    } else {
      head_.push_back(data.front());
      data.remove_prefix(1);
      if (head_.size() < kPrefix + 2 || static_cast<unsigned char>(head_.back()) > 127) {
        continue;
      }
      for (std::size_t i = head_.size() - 1; i > kPrefix; --i) {
        left_ = left_ << 7 | (static_cast<unsigned char>(head_[i]) & 127);
      }
      stream.messages += head_[kPrefix] == kBytesOfOut;
      stream.exited = head_[kPrefix] == kExit && left_ == 0;  // a nonzero code takes bytes
    }
    if (left_ == 0) {
      head_.clear();
    }
  }
}

GrpcConnection::GrpcConnection(std::uint16_t port) : socket_(port) {
  const std::string settings = big_endian(4, 2) + big_endian(kLargestWindow, 4);  // INITIAL_WINDOW_SIZE
  socket_.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(Http2Frames::kSettings, 0, 0, settings) +
               frame(Http2Frames::kWindow, 0, 0, big_endian(kLargestWindow - 65535, 4)));
}

void GrpcConnection::call(std::string_view method, std::string_view message, const Http2Frames::OnData& sink) {
  std::string headers;
  append_header(headers, ":method", "POST");
  append_header(headers, ":scheme", "http");
  append_header(headers, ":path", "/process.v1.ProcessService/" + std::string(method));
  append_header(headers, ":authority", "127.0.0.1");
  append_header(headers, "content-type", "application/grpc");
  append_header(headers, "te", "trailers");
  const std::string framed = big_endian(message.size(), kPrefix).append(message);
  socket_.send(frame(Http2Frames::kHeaders, 4, stream_, headers) +  // END_HEADERS
               frame(Http2Frames::kData, Http2Frames::kEndStream, stream_, framed));
  stream_ += 2;
  bool over = false;
  const auto on_frame = [&](std::uint8_t type, std::uint8_t flags, const std::string& payload) {
    if (type == Http2Frames::kReset || type == Http2Frames::kGoAway) {
      throw Failure("the server gave the call up with a frame of type " + std::to_string(type));
    }
    if ((type == Http2Frames::kSettings || type == Http2Frames::kPing) && (flags & Http2Frames::kAck) == 0) {
      socket_.send(frame(type, Http2Frames::kAck, 0, type == Http2Frames::kPing ? payload : ""));
    }
    over = over || (type <= Http2Frames::kHeaders && (flags & Http2Frames::kEndStream) != 0);
  };
  std::vector<char> buffer(kPatternBlock);
  while (!over) {
    const std::size_t got = socket_.receive(buffer);
    if (got == 0) {
      throw Failure("the server closed the connection");
    }
    frames_.feed({buffer.data(), got}, sink, on_frame);
  }
}

std::string process_request(std::string_view line) {
  std::string config;
  while (!line.empty()) {
    const std::size_t space = std::min(line.find(' '), line.size());
    config.append(field(1, line.substr(0, space)));
    line.remove_prefix(std::min(space + 1, line.size()));
  }
  return field(1, config);
}

void receive_grpc(std::uint16_t port, const std::string& command, Stream& stream) {
  GrpcConnection connection(port);
  StartMessages messages;
  connection.call("Start", process_request(command), [&](std::string_view piece) { messages.feed(piece, stream); });
}

/// Calls Execute of a command without output, again and again.
void run_calls(const Options& options) {
  GrpcConnection connection(options.port);
  const std::string request = process_request(options.command);
  const std::string done(kPrefix, '\0');  // code 0 and no output: an empty message
  std::vector<double> latencies;
  const double warm = now_us() + options.seconds * 0.2e6;
  const double end = warm + options.seconds * 1e6;
  for (double began = now_us(); began < end;) {
    std::string answer;
    connection.call("Execute", request, [&](std::string_view piece) { answer.append(piece); });
    const double now = now_us();
    if (answer != done) {
      throw Failure("an answer of " + std::to_string(answer.size()) + " bytes: the command failed, or said something");
    }
    if (began >= warm) {
      latencies.push_back(now - began);
    }
    began = now;
  }
  if (latencies.empty()) {
    throw Failure("not one answer in the time");
  }
  const std::size_t count = latencies.size();
  const double p50 = percentile(latencies, 0.5), p99 = percentile(latencies, 0.99);
  std::printf("{\"count\":%zu,\"rate\":%.1f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f}\n", count,
              static_cast<double>(count) / options.seconds, p50, p99, latencies.back());
}

}  // namespace skiff::bench
