// One command and N readers of its output. The command waits for a line of input until all are attached, and each
// reader compares every byte.

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <deque>
#include <fstream>
#include <string>
#include <vector>

#include "bench/load/expected.hpp"
#include "bench/load/http.hpp"
#include "bench/load/options.hpp"
#include "bench/load/socket.hpp"
#include "bench/load/stream.hpp"
#include "bench/load/websocket.hpp"

namespace skiff::bench {

namespace {

struct Reader {
  Reader(std::uint16_t port, PatternBlock& block) : socket(port), stream(block) {}
  Socket socket;
  Stream stream;
  ResponseParser response;  // for an HTTP reader
  FrameParser frames;       // for a WebSocket
  Events events;
};

/// Sends one request and returns its response's body.
std::string ask(Socket& socket, const std::string& request) {
  std::array<char, 65536> buffer;
  ResponseParser response;
  std::string body;
  socket.send(request);
  while (!response.done()) {
    const std::size_t got = socket.receive(buffer);
    if (got == 0) {
      throw Failure("the server closed the connection");
    }
    response.feed({buffer.data(), got}, [&](std::string_view piece) { body.append(piece); });
  }
  if (response.status() / 100 != 2) {
    throw Failure(response.head() + body);
  }
  return body;
}

/// Returns the value of a text member without escapes.
std::string text_of(const std::string& body, std::string_view name) {
  const std::string key = '"' + std::string(name) + "\":\"";
  const std::size_t at = body.find(key);
  if (at == std::string::npos) {
    throw Failure("an answer without " + key + ": " + body);
  }
  return body.substr(at + key.size(), body.find('"', at + key.size()) - at - key.size());
}

/// Returns the resident memory of the server, from a file that every user may read.
double rss_kib(unsigned pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  double whole = 0, resident = 0;
  if (!(file >> whole >> resident)) {
    throw Failure("no memory of the server in /proc");
  }
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1024;
}

/// Otherwise it reads JSON from a WebSocket.
bool is_http(const Options& options) {
  return options.form == "octet";
}

class Readers {
 public:
  Readers(const Options& options, std::string command) : options_(options), command_(std::move(command)) {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 0; i < options.clients; ++i) {
      Reader& reader = readers_.emplace_back(options.port, block_);
      attach(reader);
      epoll_event event{.events = EPOLLIN, .data = {.ptr = &reader}};
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, reader.socket.fd(), &event);
    }
  }
  ~Readers() { ::close(epoll_); }
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  /// Reads until each reader has all bytes.
  void read_all() {
    std::vector<char> buffer(kPatternBlock);
    std::array<epoll_event, 64> events;
    for (std::size_t complete = 0; complete < readers_.size();) {
      const int ready = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 20'000);
      if (ready <= 0) {
        throw Failure("only " + std::to_string(complete) + " readers have everything, and nothing came for 20 s");
      }
      for (int i = 0; i < ready; ++i) {
        Reader& reader = *static_cast<Reader*>(events[static_cast<std::size_t>(i)].data.ptr);
        read_some(reader, buffer);
        if (reader.stream.output.offset() == options_.bytes) {
          ::epoll_ctl(epoll_, EPOLL_CTL_DEL, reader.socket.fd(), nullptr);
          ++complete;
        }
      }
    }
  }

 private:
  /// Returns when the server has responded: then it is a reader.
  void attach(Reader& reader) {
    if (!http_) {
      std::string rest;
      open_websocket(reader.socket, options_, command_ + "/attach", "skiff.v1.json", rest);
      feed(reader, rest);
      return;
    }
    reader.socket.send(
        request_text(options_, command_ + "/output?follow=true", "", "Accept: application/octet-stream\r\n"));
    std::vector<char> buffer(65536);
    while (!reader.response.has_head()) {
      read_some(reader, buffer);
    }
  }

  void read_some(Reader& reader, std::vector<char>& buffer) {
    const std::size_t got = reader.socket.receive(buffer);
    if (got == 0) {
      throw Failure("a reader was cut off at byte " + std::to_string(reader.stream.output.offset()));
    }
    feed(reader, {buffer.data(), got});
  }

  static void control(int opcode, std::string_view payload) {
    if (opcode == 8 && !payload.starts_with("\x03\xe8")) {
      throw Failure("a reader was closed with another code than 1000");
    }
  }

  void feed(Reader& reader, std::string_view data) const {
    if (!http_) {
      const auto on_data = [&](bool, std::string_view piece, bool last) {
        reader.events.feed_frame(piece, last, reader.stream);
      };
      reader.frames.feed(data, on_data, control);
      return;
    }
    reader.response.feed(data, [&](std::string_view piece) {
      if (reader.response.status() != 200) {
        throw Failure(reader.response.head() + std::string(piece));
      }
      reader.stream.take(piece);
    });
  }

  const Options& options_;
  const std::string command_;
  const bool http_ = is_http(options_);
  PatternBlock block_{pattern_named(options_.pattern)};
  int epoll_ = -1;
  std::deque<Reader> readers_;
};

}  // namespace

void run_readers(const Options& options) {
  Socket socket(options.port);
  const std::string command =
      options.path + "/" + text_of(ask(socket, request_text(options, options.path, options.body)), "id");
  const double rss_before = rss_kib(options.pid);
  Readers readers(options, command);
  const double rss_after = rss_kib(options.pid);
  const double released = now_us();
  ask(socket, request_text(options, command + "/stdin?eof=true", "\n"));
  readers.read_all();
  const double all = now_us();
  const std::string result = ask(socket, request_text(options, command + "?wait_ms=60000", ""));
  if (result.find("\"exit_code\":0") == std::string::npos) {
    throw Failure("the command failed: " + result);
  }
  double command_us = 0;  // time of a command that reports it on stderr, as `writer ... timed` does
  if (is_http(options)) {
    const std::string said = ask(socket, request_text(options, command + "/output?stream=stderr", ""));
    command_us = std::stod(text_of(said, "data"));
  }
  const double bytes = static_cast<double>(options.bytes) * options.clients;
  std::printf("{\"rss_kib_each\":%.3f,\"command_ms\":%.3f,\"all_ms\":%.3f,\"mb_per_s\":%.1f}\n",
              (rss_after - rss_before) / options.clients, command_us / 1e3, (all - released) / 1e3,
              bytes / (all - released));
}

}  // namespace skiff::bench
