#include "runtime/reader/log_reader.hpp"

#include <algorithm>
#include <utility>

namespace skiff::runtime {

using sessions::LogItem;

LogReader::LogReader(sessions::Turns& turns, std::shared_ptr<sessions::OutputLog> log, Options options)
    : LogWatch{turns.executor(), log, options.watch},
      turns_{turns},
      where_{.from = options.from, .only = options.only, .lossless = options.lossless},
      cursor_{log, where_},
      stop_at_{options.follow ? std::numeric_limits<std::uint64_t>::max() : log->next_offset()},
      left_{options.limit_bytes},
      until_end_{options.until_end} {}

Task<Wake> LogReader::ready(bool holding) {
  Wake wake = Wake::output;
  if (dry_) {
    wake = look(holding);
    if (wake == Wake::output) co_await cursor_.ready();
  }
  if (!turns_.take()) co_await turns_.next();
  share_ = turns_.bytes();
  dry_ = false;
  if (expired()) co_return Wake::expired;
  if (overdue()) co_return Wake::overdue;
  co_return wake;
}

std::optional<LogItem> LogReader::next(std::size_t most) {
  if (left_ == 0) over_ = true;
  if (over_ || share_ == 0) return std::nullopt;
  auto item = cursor_.next(std::min<std::uint64_t>({share_, left_, most}));
  if (!item) {
    dry_ = true;
    over_ = cursor_.offset() >= stop_at_;
    return std::nullopt;
  }
  share_ -= item->bytes.size();
  left_ -= item->bytes.size();
  over_ = item->kind == LogItem::Kind::end || (item->kind == LogItem::Kind::exit && !until_end_);
  note_sent();
  return item;
}

void LogReader::rewind(std::uint64_t offset) {
  where_.from = offset;
  cursor_ = sessions::Cursor{log(), where_};
  share_ = 0;
  dry_ = false;
  over_ = false;
}

}  // namespace skiff::runtime
