#include "runtime/api/kept_output.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include "protocol/json/utf8.hpp"
#include "runtime/reader/log_part.hpp"

namespace skiff::runtime::api {
namespace {

using sessions::LogItem;

/// The kept part of one stream: all of it, or its beginning and its end.
class Excerpt {
 public:
  explicit Excerpt(std::size_t max_bytes) : head_room_{max_bytes - max_bytes / 2}, tail_room_{max_bytes / 2} {}

  void add(Slice bytes) {
    if (!cut_ && head_size_ < head_room_) {
      Slice part = bytes.sub(0, std::min(bytes.size(), head_room_ - head_size_));
      head_size_ += part.size();
      const std::size_t taken = part.size();
      head_.push_back(std::move(part));
      bytes = bytes.sub(taken);
    }
    if (bytes.empty()) return;
    tail_size_ += bytes.size();
    tail_.push_back(std::move(bytes));
    // Free slices that the tail no longer needs at once: they hold memory of the log.
    std::size_t front = 0;
    while (tail_size_ - tail_[front].size() > tail_room_) {
      tail_size_ -= tail_[front].size();
      omitted_ += tail_[front].size();
      ++front;
    }
    tail_.erase(tail_.begin(), tail_.begin() + static_cast<std::ptrdiff_t>(front));
  }

  /// Notes a gap in the log.
  void gap() { cut_ = cut_ || head_size_ > 0; }

  /// The text; if it is cut, then between characters.
  [[nodiscard]] std::string take() {
    std::string text;
    text.reserve(head_size_ + std::min(tail_size_, tail_room_));
    for (const Slice& part : head_) text += part.view();
    std::string tail;
    for (const Slice& part : tail_) tail += part.view();
    if (tail.size() > tail_room_) {
      omitted_ += tail.size() - tail_room_;
      tail.erase(0, tail.size() - tail_room_);
    }
    if (omitted_ > 0) {
      const std::size_t half = protocol::incomplete_tail(text);
      text.resize(text.size() - half);
      std::size_t rest = 0;
      while (rest < std::min<std::size_t>(3, tail.size()) && (static_cast<unsigned char>(tail[rest]) & 0xC0U) == 0x80U)
        ++rest;
      tail.erase(0, rest);
      omitted_ += half + rest;
    }
    return text + tail;
  }

  [[nodiscard]] std::uint64_t omitted() const noexcept { return omitted_; }

 private:
  std::size_t head_room_;
  std::size_t tail_room_;
  std::vector<Slice> head_;
  std::vector<Slice> tail_;
  std::size_t head_size_ = 0;
  std::size_t tail_size_ = 0;
  std::uint64_t omitted_ = 0;
  bool cut_ = false;
};

bool is_large(const sessions::Command& command, std::size_t max_bytes) {
  return std::min<std::uint64_t>(command.log()->next_offset(), 2 * std::uint64_t{max_bytes}) > kLargeOutput;
}

}  // namespace

Task<std::optional<FairSemaphore::Permit>> turn_to_answer(FairSemaphore* turns, std::string who,
                                                          std::shared_ptr<sessions::Command> command,
                                                          std::size_t max_bytes) {
  if (!is_large(*command, max_bytes)) co_return std::nullopt;
  co_return co_await turns->acquire(std::move(who));
}

Task<KeptOutput> kept_output(std::shared_ptr<sessions::Command> command, std::size_t max_bytes) {
  const auto log = command->log();
  // The log does not know the stream of bytes in a gap, but the totals of both streams: bytes that cannot be read were
  // lost.
  std::uint64_t missing_out = log->bytes_of(sessions::Stream::out);
  std::uint64_t missing_err = log->bytes_of(sessions::Stream::err);
  Excerpt standard{max_bytes};
  Excerpt error{max_bytes};
  std::uint64_t next = log->next_offset();
  std::function<void(LogItem)> take = [&](LogItem item) {
    if (item.kind == LogItem::Kind::exit) next = item.next;
    if (item.kind == LogItem::Kind::gap) {
      standard.gap();
      error.gap();
    } else if (item.kind == LogItem::Kind::output) {
      const bool is_out = item.stream == sessions::Stream::out;
      (is_out ? missing_out : missing_err) -= item.bytes.size();
      // Leave out output of background processes after the exit; it is in the log, from `next` on.
      if (!item.late) (is_out ? standard : error).add(std::move(item.bytes));
    }
  };
  (void)co_await read_part(log, 0, std::move(take));
  if (is_large(*command, max_bytes)) {
    const Executor executor = co_await boost::asio::this_coro::executor;
    co_await boost::asio::post(executor, use_task);
  }
  KeptOutput kept{.out = standard.take(), .err = error.take(), .next = next};
  kept.omitted_out = standard.omitted() + missing_out;
  kept.omitted_err = error.omitted() + missing_err;
  co_return kept;
}

}  // namespace skiff::runtime::api
