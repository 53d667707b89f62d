#include "container/agent/stream/event_stream.hpp"

#include <utility>

namespace skiff::container {

bool EventStream::push(std::string_view bytes) {
  bytes_.erase(0, std::exchange(begun_, 0));
  bytes_ += bytes;
  return bytes_.size() + data_.size() <= kLargest;
}

void EventStream::take(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (std::exchange(has_data_, true)) data_ += '\n';
    data_ += value;
  } else if (field == "id") {
    id_ = value;
  }
}

std::optional<std::string> EventStream::next() {
  for (;;) {
    const std::size_t end = bytes_.find('\n', begun_);
    if (end == std::string::npos) return std::nullopt;
    std::string_view line{bytes_.data() + begun_, end - begun_};
    begun_ = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) {
      take(line);
      continue;
    }
    has_data_ = false;
    if (!data_.empty()) return std::exchange(data_, {});
  }
}

}  // namespace skiff::container
