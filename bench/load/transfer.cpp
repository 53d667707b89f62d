// One file over one connection: downloaded and compared as it comes; uploaded, and compared on the disk after the time
// is taken; or any response kept for a later check.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/load/expected.hpp"
#include "bench/load/http.hpp"
#include "bench/load/options.hpp"
#include "bench/load/socket.hpp"

namespace skiff::bench {

namespace {

class Clock {
 public:
  [[nodiscard]] double seconds() const { return (now_us() - began_) / 1e6; }
  [[nodiscard]] double cpu_seconds() const { return own_cpu_seconds() - cpu_; }

 private:
  double began_ = now_us(), cpu_ = own_cpu_seconds();
};

/// Reads to the end of the response. An unwanted body is the text of the Failure.
void receive_answer(Socket& socket, const ResponseParser::Sink& sink) {
  std::vector<char> buffer(kPatternBlock);
  ResponseParser response;
  std::string refusal;
  while (!response.done()) {
    const std::size_t got = socket.receive(buffer);
    if (got == 0) {
      throw Failure("the answer was cut: " + response.head());
    }
    response.feed({buffer.data(), got}, [&](std::string_view piece) {
      response.status() / 100 == 2 ? sink(piece) : static_cast<void>(refusal.append(piece));
    });
  }
  if (response.status() / 100 != 2) {
    throw Failure(response.head() + refusal);
  }
}

void print_rate(std::uint64_t bytes, double seconds, double cpu_seconds) {
  const auto count = static_cast<double>(bytes);
  std::printf("{\"bytes\":%llu,\"seconds\":%.6f,\"mb_per_s\":%.1f,\"client_cpu_s_per_gb\":%.3f}\n",
              static_cast<unsigned long long>(bytes), seconds, count / seconds / 1e6, cpu_seconds * 1e9 / count);
}

void must_be(std::uint64_t bytes, std::uint64_t wanted, const std::string& where) {
  if (bytes != wanted) {
    throw Failure(std::to_string(bytes) + " bytes " + where + ", and not " + std::to_string(wanted));
  }
}

void compare_file(const Options& options, PatternBlock& block) {
  const int file = ::open(options.file.c_str(), O_RDONLY | O_CLOEXEC);
  std::vector<char> buffer(kPatternBlock);
  Expected content(block);
  for (ssize_t got = 1; got > 0;) {
    got = ::read(file, buffer.data(), buffer.size());
    if (got < 0) {
      throw Failure("what was sent can't be read at " + options.file);
    }
    content.check({buffer.data(), static_cast<std::size_t>(got)});
  }
  ::close(file);
  must_be(content.offset(), options.bytes, "are in " + options.file);
}

}  // namespace

void run_download(const Options& options) {
  Socket socket(options.port);
  PatternBlock block(kPatternBytes);
  Expected content(block);
  const Clock clock;
  socket.send(request_text(options, options.path, ""));
  receive_answer(socket, [&](std::string_view piece) { content.check(piece); });
  const double took = clock.seconds();
  must_be(content.offset(), options.bytes, "came");
  print_rate(options.bytes, took, clock.cpu_seconds());
}

void run_upload(const Options& options) {
  Socket socket(options.port);
  PatternBlock block(kPatternBytes);
  const Clock clock;
  socket.send(upload_head(options, options.path, options.bytes));
  for (std::uint64_t number = 0, sent = 0; sent < options.bytes; ++number) {
    const std::size_t size = std::min<std::uint64_t>(block.size, options.bytes - sent);
    socket.send({block.numbered(number), size});
    sent += size;
  }
  receive_answer(socket, [](std::string_view) {});
  const double took = clock.seconds(), cpu = clock.cpu_seconds();
  compare_file(options, block);
  print_rate(options.bytes, took, cpu);
}

void run_fetch(const Options& options) {
  Socket socket(options.port);
  std::string body;
  const Clock clock;
  socket.send(request_text(options, options.path, ""));
  receive_answer(socket, [&](std::string_view piece) { body.append(piece); });
  const double took = clock.seconds(), cpu = clock.cpu_seconds();
  std::FILE* file = std::fopen(options.file.c_str(), "we");
  if (file == nullptr || std::fwrite(body.data(), 1, body.size(), file) != body.size() || std::fclose(file) != 0) {
    throw Failure("can't write " + options.file);
  }
  print_rate(body.size(), took, cpu);
}

}  // namespace skiff::bench
