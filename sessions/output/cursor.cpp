#include <algorithm>
#include <utility>

#include "sessions/output/state.hpp"

namespace skiff::sessions {

Cursor::Cursor(std::shared_ptr<OutputLog> log, Options options) : state_{std::make_unique<State>()} {
  state_->log = std::move(log);
  state_->offset = options.from;
  state_->only = options.only;
  if (options.lossless) state_->log->state_->join(*state_);
}

Cursor::Cursor(Cursor&&) noexcept = default;

Cursor& Cursor::operator=(Cursor&& other) noexcept {
  Cursor old{std::move(*this)};
  state_ = std::move(other.state_);
  return *this;
}

Cursor::~Cursor() {
  if (state_ && state_->lossless) state_->log->state_->leave(*state_);
}

std::optional<LogItem> Cursor::next(std::size_t max_bytes) {
  State& my = *state_;
  const std::uint64_t before = my.offset;
  std::optional<LogItem> item = my.step(max_bytes);
  if (my.offset != before && my.lossless) {
    OutputLog::State& log = *my.log->state_;
    if (log.producers_waiting > 0) my.took_at = std::chrono::steady_clock::now();
    log.advanced(before);
  }
  return item;
}

std::optional<LogItem> Cursor::State::step(std::size_t max_bytes) {
  const OutputLog::State& from = *log->state_;
  const auto item = [this](LogItem::Kind kind, std::uint64_t next) {
    const std::uint64_t at = std::exchange(offset, next);
    return LogItem{
        .kind = kind, .offset = at, .next = next, .stream = Stream::out, .late = false, .time = {}, .bytes = {}};
  };
  while (!finished) {
    const bool exit_to_come = from.exit_status && !exit_given;
    if (exit_to_come && offset >= from.exit_at) {
      exit_given = true;
      return item(LogItem::Kind::exit, offset);
    }
    if (offset >= from.next) {
      loaded.reset();
      if (!from.ended) return std::nullopt;
      finished = true;
      return item(LogItem::Kind::end, offset);
    }
    std::uint64_t resume = 0;
    const OutputChunk* chunk = find(resume);
    if (chunk == nullptr) return item(LogItem::Kind::gap, exit_to_come ? std::min(resume, from.exit_at) : resume);
    if (!chunk->segment) return std::nullopt;

    const auto at = static_cast<std::uint32_t>(offset - chunk->base);
    const auto after = std::ranges::upper_bound(chunk->records, at, {}, &OutputRecord::at);
    const OutputRecord& record = *(after - 1);
    const std::uint64_t end = chunk->base + (after == chunk->records.end() ? chunk->end : after->at);
    if (only && record.stream != *only) {
      offset = end;
      continue;
    }
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(end - offset, max_bytes));
    Slice bytes{chunk->segment, chunk->segment->data() + at, size};
    LogItem output = item(LogItem::Kind::output, offset + size);
    output.stream = record.stream;
    output.late = record.late;
    output.time = record.time;
    output.bytes = std::move(bytes);
    return output;
  }
  return std::nullopt;
}

const OutputChunk* Cursor::State::find(std::uint64_t& resume) {
  if (loaded && loaded->holds(offset)) return loaded.get();
  loaded.reset();
  const OutputChunk* const chunk = log->state_->store->find(offset, resume);
  if (chunk == nullptr || chunk->segment) return chunk;
  loaded = chunk->loaded.lock();
  return loaded ? loaded.get() : chunk;
}

Task<> Cursor::ready() {
  State& my = *state_;
  const auto log = my.log;
  const std::uint64_t wakes = log->state_->wakes;
  for (;;) {
    const OutputLog::State& from = *log->state_;
    if (my.finished) co_return;
    if (from.exit_status && !my.exit_given && my.offset >= from.exit_at) co_return;
    if (my.offset < from.next) {
      std::uint64_t resume = 0;
      const OutputChunk* const chunk = my.find(resume);
      if (chunk == nullptr || chunk->segment) co_return;
      auto store = from.store;
      my.loaded = co_await OutputStore::load(std::move(store), my.offset);
      co_return;
    }
    if (from.ended) co_return;
    co_await log->state_->changed.wait();
    if (log->state_->wakes != wakes) co_return;
  }
}

bool Cursor::finished() const noexcept {
  return state_->finished;
}
std::uint64_t Cursor::offset() const noexcept {
  return state_->offset;
}

}  // namespace skiff::sessions
