// One request again and again on N keep-alive connections, one outstanding on each; one thread, epoll.

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "bench/load/expected.hpp"
#include "bench/load/http.hpp"
#include "bench/load/options.hpp"
#include "bench/load/socket.hpp"

namespace skiff::bench {

namespace {

struct Connection {
  Connection(std::uint16_t port, std::string text) : socket(port), request(std::move(text)) {}
  Socket socket;
  const std::string request;
  ResponseParser response;
  std::string body;
  double sent = 0;
};

void check_answer(const Connection& connection, const Options& options) {
  if (connection.response.status() / 100 != 2 || connection.body.find(options.expect) == std::string::npos) {
    throw Failure("an answer without " + options.expect + ": " + connection.response.head() + connection.body);
  }
}

/// Each connection writes a file of its own.
std::string request_of(const Options& options, unsigned number) {
  if (options.form == "connect") {
    return connect_text(options, options.path, options.body);
  }
  if (options.put_bytes == 0) {
    return request_text(options, options.path, options.body, options.headers);
  }
  PatternBlock block(kPatternBytes);
  return upload_head(options, options.path + std::to_string(number), options.put_bytes)
      .append(block.numbered(number), options.put_bytes);
}

/// Checks that the file of each connection holds the bytes of its last PUT.
void compare_files(const std::deque<Connection>& connections, const Options& options) {
  for (unsigned i = 0; i < options.clients; ++i) {
    std::ifstream file(options.file + std::to_string(i), std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    if (content.size() != options.put_bytes || !connections[i].request.ends_with(content)) {
      throw Failure(options.file + std::to_string(i) + " is not what was sent");
    }
  }
}

}  // namespace

void run_requests(const Options& options) {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  std::deque<Connection> connections;
  for (unsigned i = 0; i < options.clients; ++i) {
    Connection& connection = connections.emplace_back(options.port, request_of(options, i));
    epoll_event event{.events = EPOLLIN, .data = {.ptr = &connection}};
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, connection.socket.fd(), &event);
  }

  // Run a fifth of the time before the measurement, so that threads, caches and pools are warm.
  std::vector<double> latencies;
  latencies.reserve(1 << 20);
  const double warm = now_us() + options.seconds * 0.2e6;
  const double end = warm + options.seconds * 1e6;
  double cpu_before = 0, measured_from = 0;
  const auto send = [&](Connection& connection) {
    connection.body.clear();
    connection.response.reset();
    if (options.pause_us > 0) {
      ::usleep(options.pause_us);
    }
    connection.sent = now_us();
    connection.socket.send(connection.request);
  };
  std::for_each(connections.begin(), connections.end(), send);

  std::array<char, 65536> buffer;
  std::array<epoll_event, 64> events;
  std::size_t outstanding = connections.size(), answers = 0;
  while (outstanding > 0) {
    const int ready = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), 20'000);
    if (ready <= 0) {
      throw Failure("no answer for 20 s");
    }
    for (int i = 0; i < ready; ++i) {
      auto& connection = *static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr);
      const std::size_t got = connection.socket.receive(buffer);
      if (got == 0) {
        throw Failure("the server closed a connection");
      }
      const std::size_t used = connection.response.feed({buffer.data(), got},
                                                        [&](std::string_view piece) { connection.body.append(piece); });
      if (used != got) {
        throw Failure("more came than the answer");
      }
      if (!connection.response.done()) {
        continue;
      }
      const double now = now_us();
      check_answer(connection, options);
      ++answers;
      if (now >= warm && measured_from == 0) {
        measured_from = now;
        cpu_before = own_cpu_seconds();
      } else if (now < end && measured_from > 0) {
        latencies.push_back(now - connection.sent);
      }
      if (now < end) {
        send(connection);
      } else {
        --outstanding;
      }
    }
  }
  ::close(epoll);
  if (options.put_bytes > 0) {
    compare_files(connections, options);
  }
  const std::size_t count = latencies.size();
  if (count == 0) {
    throw Failure("not one answer in the time");
  }
  const double measured = (end - measured_from) / 1e6;
  const double p50 = percentile(latencies, 0.5), p99 = percentile(latencies, 0.99);
  std::printf(
      "{\"answers\":%zu,\"count\":%zu,\"rate\":%.1f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f,"
      "\"client_cpu_us\":%.2f}\n",
      answers, count, static_cast<double>(count) / measured, p50, p99, latencies.back(),
      (own_cpu_seconds() - cpu_before) * 1e6 / static_cast<double>(count));
}

}  // namespace skiff::bench
