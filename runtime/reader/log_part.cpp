#include "runtime/reader/log_part.hpp"

#include <algorithm>
#include <utility>

namespace skiff::runtime {

Task<std::uint64_t> read_part(std::shared_ptr<sessions::OutputLog> log, std::uint64_t from,
                              std::function<void(sessions::LogItem)> take, std::uint64_t limit) {
  const std::uint64_t stop_at = log->next_offset();
  if (from >= stop_at) co_return from;
  sessions::Cursor cursor{std::move(log), {.from = from, .only = {}}};
  while (cursor.offset() < stop_at && limit > 0) {
    auto item = cursor.next(std::min(limit, stop_at - cursor.offset()));
    if (!item) {
      co_await cursor.ready();
      continue;
    }
    limit -= item->bytes.size();
    take(std::move(*item));
  }
  co_return cursor.offset();
}

}  // namespace skiff::runtime
