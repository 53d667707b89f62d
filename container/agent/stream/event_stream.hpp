#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace skiff::container {

/// Parses server-sent events (WHATWG HTML, section 9.2.6): only their data and ids.
class EventStream {
 public:
  /// Returns false once an event is larger than 64 MiB.
  [[nodiscard]] bool push(std::string_view bytes);
  /// The data of the next complete event. Events without data are skipped, but their ids count.
  [[nodiscard]] std::optional<std::string> next();
  /// Id of the last event that had one; empty if none had.
  [[nodiscard]] const std::string& last_id() const noexcept { return id_; }

 private:
  static constexpr std::size_t kLargest = std::size_t{64} << 20U;
  void take(std::string_view line);

  std::string bytes_;
  std::size_t begun_ = 0;  ///< number of bytes of `bytes_` that were taken already
  std::string data_;
  std::string id_;
  bool has_data_ = false;
};

}  // namespace skiff::container
