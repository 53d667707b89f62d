#include "container/kube/pod_log.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "protocol/http/client.hpp"

namespace skiff::kube {
namespace {

constexpr std::chrono::minutes kQuiet{5};
constexpr std::size_t kLogPiece = std::size_t{16} << 10U;
constexpr std::size_t kLongestLogLine = std::size_t{1} << 20U;

}  // namespace

Task<Outcome<std::string>> read_log(Client* client, std::string namespace_name, std::string pod, LogOptions options) {
  const auto number = [](const std::optional<std::uint64_t>& value) {
    return value ? std::to_string(*value) : std::string{};
  };
  const std::string query = Query{}
                                .add("container", options.container)
                                .add("previous", options.previous ? "true" : "")
                                .add("timestamps", options.timestamps ? "true" : "")
                                .add("tailLines", number(options.tail_lines))
                                .add("limitBytes", number(options.limit_bytes))
                                .add("sinceSeconds", number(options.since_seconds))
                                .text();
  Call call{.target = object_path(kPods, namespace_name, pod, "log") + query,
            .what = "read the log of pod " + namespace_name + "/" + pod};
  SKIFF_CO_TRY(auto reply, co_await client->transport().send(std::move(call)));
  co_return std::move(reply.body);
}

std::optional<std::string_view> LogPlace::take(std::string_view line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view time = line.substr(0, end);
  // All times have the same form, and nine digits behind the dot.
  if (time < time_) return std::nullopt;
  if (time == time_ && repeated_ < of_this_time_) {
    ++repeated_;
    return std::nullopt;
  }
  if (time != time_) of_this_time_ = 0;
  time_ = time;
  repeated_ = ++of_this_time_;
  return line.substr(std::min(end + 1, line.size()));
}

Task<Outcome<>> follow_log(Client* client, std::string namespace_name, std::string pod, LogPlace* place,
                           std::function<bool(std::string_view line)> take) {
  const std::string query =
      Query{}.add("follow", "true").add("timestamps", "true").add("sinceTime", place->time()).text();
  Call call{.target = object_path(kPods, namespace_name, pod, "log") + query,
            .what = "follow the log of pod " + namespace_name + "/" + pod};
  SKIFF_CO_TRY(const auto connection, co_await client->transport().stream(std::move(call), kQuiet));
  place->begin_again();
  std::string received;
  std::vector<char> piece(kLogPiece);
  for (;;) {
    const auto got = co_await connection->read_some(piece);
    if (!got || *got == 0) co_return Outcome<>{};
    received.append(piece.data(), *got);
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = received.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const auto line = place->take(std::string_view{received}.substr(begin, end - begin));
      if (line && !take(*line)) co_return Outcome<>{};
    }
    received.erase(0, begin);
    if (received.size() > kLongestLogLine) co_return Outcome<>{};
  }
}

}  // namespace skiff::kube
