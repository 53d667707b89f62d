#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace skiff::container {

/// Takes server-sent events apart (WHATWG HTML, section 9.2.6), as far as they carry messages: their data and ids.
class EventStream {
 public:
  /// False once an event is larger than anything that is meant (64 MiB).
  [[nodiscard]] bool push(std::string_view bytes);
  /// The data of the next whole event; those without data are passed over, but their ids count.
  [[nodiscard]] std::optional<std::string> next();
  /// Of the last event that had one; empty: none had.
  [[nodiscard]] const std::string& last_id() const noexcept { return id_; }

 private:
  static constexpr std::size_t kLargest = std::size_t{64} << 20U;
  void take(std::string_view line);

  std::string bytes_;
  std::size_t begun_ = 0;  ///< of `bytes_`, taken already
  std::string data_;
  std::string id_;
  bool has_data_ = false;
};

}  // namespace skiff::container
