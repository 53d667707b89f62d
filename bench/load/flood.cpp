// The response time of /healthz while N commands print as fast as they can. One thread reads the streams and compares
// every byte. Another thread asks every 10 ms, with a higher scheduling priority where that is allowed, so that the
// figure measures the server and not this thread's wait for a processor.

#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/load/expected.hpp"
#include "bench/load/http.hpp"
#include "bench/load/options.hpp"
#include "bench/load/socket.hpp"

namespace skiff::bench {

namespace {

struct Reader {
  Reader(std::uint16_t port, PatternBlock& block) : socket(port), output(block) {}
  Socket socket;
  ResponseParser response;
  Expected output;
};

/// Starts the commands and reads until `stop`; `live` counts the streams that have sent bytes.
class Floods {
 public:
  explicit Floods(const Options& options) : options_(options), block_(kPatternBytes) {
    const std::string request = request_text(options, options.path, options.body,
                                             options.background ? "" : "Accept: application/octet-stream\r\n");
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 0; i < options.clients; ++i) {
      Reader& reader = readers_.emplace_back(options.port, block_);
      epoll_event event{.events = EPOLLIN, .data = {.ptr = &reader}};
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, reader.socket.fd(), &event);
      reader.socket.send(request);
    }
  }
  ~Floods() { ::close(epoll_); }
  Floods(const Floods&) = delete;
  Floods& operator=(const Floods&) = delete;

  void read(const std::atomic<bool>& stop) {
    std::vector<char> buffer(kPatternBlock);
    std::array<epoll_event, 64> events;
    while (!stop) {
      const int ready = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 100);
      for (int i = 0; i < ready; ++i) {
        read_some(*static_cast<Reader*>(events[static_cast<std::size_t>(i)].data.ptr), buffer);
      }
    }
  }

  std::atomic<unsigned> live = 0;
  std::atomic<std::uint64_t> bytes = 0;

 private:
  void read_some(Reader& reader, std::vector<char>& buffer) {
    const std::size_t got = reader.socket.receive(buffer);
    const bool was_live = reader.output.offset() > 0 || (options_.background && reader.response.done());
    std::string body;
    reader.response.feed({buffer.data(), got}, [&](std::string_view piece) {
      if (reader.response.status() == 200 && !options_.background) {
        reader.output.check(piece);
        bytes += piece.size();
      } else {
        body.append(piece);
      }
    });
    const int wanted = options_.background ? 202 : 200;
    if (got == 0 || (reader.response.has_head() && reader.response.status() != wanted) ||
        (reader.response.done() && !options_.background)) {
      throw Failure("a flood ended: " + reader.response.head() + body);
    }
    const bool is_live = reader.output.offset() > 0 || (options_.background && reader.response.done());
    live += !was_live && is_live ? 1 : 0;
  }

  const Options& options_;
  PatternBlock block_;
  int epoll_ = -1;
  std::deque<Reader> readers_;
};

struct Probe {
  std::vector<double> latencies, lateness;
};

/// Asks every 10 ms. After a slow response the next question is late because of the server, so its time counts from
/// when it was due. If this thread woke late, the time counts from the send.
Probe ask_for(const Options& options, double seconds) {
  constexpr double kEvery = 10'000;
  Probe probe;
  Socket socket(options.port);
  const std::string request = request_text(options, "/healthz", "");
  std::array<char, 4096> buffer;
  double answered = now_us();
  for (double due = answered + kEvery, end = answered + seconds * 1e6; due < end; due += kEvery) {
    const double late_by_server = std::max(0.0, answered - due);
    if (late_by_server == 0) {
      const timespec until{static_cast<time_t>(due / 1e6),
                           static_cast<long>((due - 1e6 * static_cast<double>(static_cast<time_t>(due / 1e6))) * 1e3)};
      ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
      probe.lateness.push_back(now_us() - due);
    }
    const double sent = now_us();
    socket.send(request);
    ResponseParser response;
    while (!response.done()) {
      pollfd ready{.fd = socket.fd(), .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, 20'000) != 1) {
        throw Failure("no answer of /healthz for 20 s");
      }
      const std::size_t got = socket.receive(buffer);
      if (got == 0) {
        throw Failure("the server closed the connection");
      }
      response.feed({buffer.data(), got}, [](std::string_view) {});
    }
    if (response.status() != 200) {
      throw Failure("/healthz: " + response.head());
    }
    answered = now_us();
    probe.latencies.push_back(answered - sent + late_by_server);
  }
  return probe;
}

}  // namespace

void run_flood(const Options& options) {
  Floods floods(options);
  std::atomic<bool> stop = false;
  std::exception_ptr failed;
  std::thread reading([&] {
    try {
      floods.read(stop);
    } catch (...) {
      failed = std::current_exception();
    }
  });
  Probe probe;
  double measured_from = 0, measured_to = 0;
  std::uint64_t bytes_before = 0, bytes_after = 0;
  bool favoured = false;
  try {
    const timespec moment{0, 10'000'000};
    for (const double limit = now_us() + 20e6; floods.live < options.clients && now_us() < limit;) {
      ::nanosleep(&moment, nullptr);
    }
    if (floods.live == options.clients) {
      favoured = ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), -10) == 0;
      bytes_before = floods.bytes;
      measured_from = now_us();
      probe = ask_for(options, options.seconds);
      measured_to = now_us();
      bytes_after = floods.bytes;
    }
  } catch (...) {
    failed = std::current_exception();
  }
  stop = true;
  reading.join();
  if (failed) {
    std::rethrow_exception(failed);
  }
  if (measured_from == 0) {
    throw Failure("only " + std::to_string(floods.live) + " of the floods began within 20 s");
  }
  const double p50 = percentile(probe.latencies, 0.5), p99 = percentile(probe.latencies, 0.99);
  std::printf(
      "{\"count\":%zu,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f,\"own_lateness_p99_ms\":%.3f,"
      "\"own_priority\":%s,\"mb_per_s\":%.1f}\n",
      probe.latencies.size(), p50 / 1e3, p99 / 1e3, probe.latencies.back() / 1e3,
      percentile(probe.lateness, 0.99) / 1e3, favoured ? "true" : "false",
      static_cast<double>(bytes_after - bytes_before) / (measured_to - measured_from));
}

}  // namespace skiff::bench
