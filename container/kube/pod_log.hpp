#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "container/kube/client.hpp"

namespace skiff::kube {

struct LogOptions {
  std::string container = {};  ///< needed when the pod has several
  bool previous = false;       ///< log of the run before the last restart
  bool timestamps = false;
  std::optional<std::uint64_t> tail_lines = {};
  std::optional<std::uint64_t> limit_bytes = {};
  std::optional<std::uint64_t> since_seconds = {};
};

/// Where a reader of a log is: it can go on there on another connection.
class LogPlace {
 public:
  /// Takes a line that begins with its time, and returns the rest; nullopt if it was taken before.
  [[nodiscard]] std::optional<std::string_view> take(std::string_view line);
  /// From here on lines come again that were taken before.
  void begin_again() noexcept { repeated_ = 0; }
  /// The time of the last line; empty before the first.
  [[nodiscard]] const std::string& time() const noexcept { return time_; }

 private:
  std::string time_;
  std::size_t of_this_time_ = 0;  ///< lines that were taken with that time
  std::size_t repeated_ = 0;      ///< of these, how many have come again
};

/// The output of a container until now. A container that has not started is a failure (400), or an empty text.
[[nodiscard]] Task<Outcome<std::string>> read_log(Client* client, std::string namespace_name, std::string pod,
                                                  LogOptions options = {});

/// Passes the lines of a container, those until now and new ones, from `place` on to `take`, until the connection ends
/// or `take` returns false. A connection without a byte for some minutes counts as ended: call it again.
[[nodiscard]] Task<Outcome<>> follow_log(Client* client, std::string namespace_name, std::string pod, LogPlace* place,
                                         std::function<bool(std::string_view line)> take);

}  // namespace skiff::kube
