#include "container/serve/fleet/line_backlog.hpp"

#include <algorithm>
#include <utility>

namespace skiff::container::serve {
namespace {

constexpr std::size_t kPiece = std::size_t{64} << 10U;

}  // namespace

void LineBacklog::add(std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    lines_.emplace_back(lines.substr(0, end));
    bytes_ += end;
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  while (bytes_ > most_) {
    bytes_ -= lines_.front().size();
    lines_.pop_front();
    misses_ = true;
  }
}

std::deque<std::string> LineBacklog::take() {
  std::deque<std::string> taken;
  if (std::exchange(misses_, false)) taken.push_back(missing_);
  for (std::size_t size = 0; size < kPiece && !lines_.empty(); size += taken.back().size()) {
    bytes_ -= lines_.front().size();
    taken.push_back(std::move(lines_.front()));
    lines_.pop_front();
  }
  return taken;
}

}  // namespace skiff::container::serve
