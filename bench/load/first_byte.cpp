// The time from the request to the first byte of a command's output; one connection, one command after another.

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/load/http.hpp"
#include "bench/load/options.hpp"
#include "bench/load/socket.hpp"

namespace skiff::bench {

void run_first_byte(const Options& options) {
  Socket socket(options.port);
  const std::string request = request_text(options, options.path, options.body, "Accept: application/octet-stream\r\n");
  std::vector<double> latencies, wholes;
  std::array<char, 65536> buffer;
  const unsigned warm_up = options.count / 10 + 1;
  for (unsigned i = 0; i < options.count + warm_up; ++i) {
    ResponseParser response;
    std::string body;
    double first = 0;
    const double sent = now_us();
    socket.send(request);
    while (!response.done()) {
      const std::size_t got = socket.receive(buffer);
      if (got == 0) {
        throw Failure("the server closed the connection: " + response.head() + body);
      }
      response.feed({buffer.data(), got}, [&](std::string_view piece) {
        first = body.empty() ? now_us() : first;
        body.append(piece);
      });
    }
    if (response.status() != 200 || body != options.expect + "\n" ||
        header_value(response.trailers(), "x-exit-code") != "0") {
      throw Failure("not what the command prints: " + response.head() + body + response.trailers());
    }
    if (i >= warm_up) {
      latencies.push_back(first - sent);
      wholes.push_back(now_us() - sent);
    }
  }
  const double p50 = percentile(latencies, 0.5), p99 = percentile(latencies, 0.99);
  std::printf("{\"count\":%zu,\"p50_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f,\"whole_p50_us\":%.1f}\n",
              latencies.size(), p50, p99, latencies.back(), percentile(wholes, 0.5));
}

}  // namespace skiff::bench
