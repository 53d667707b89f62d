#include "fs/search/line_search.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace skiff::fs {
namespace {

// First size of a block. When it holds a zero byte, neither it nor the rest is searched, as in ripgrep.
constexpr std::size_t kSearchBlock = std::size_t{64} << 10U;
constexpr std::size_t kLargest = std::size_t{1} << 20U;
constexpr std::size_t kOverlap = 4096;
constexpr unsigned kMostContext = 100;

}  // namespace

LineSearch::LineSearch(const LineMatcher& matcher, const SearchLimits& limits)
    : matcher_{matcher}, limits_{limits}, buffer_(kSearchBlock) {
  limits_.before = std::min(limits.before, kMostContext);
  limits_.after = std::min(limits.after, kMostContext);
  limits_.longest_line = std::max<std::size_t>(limits.longest_line, 1);
}

LineSearch::End LineSearch::search(int file, std::uint64_t most_bytes, const std::function<bool(LineMatch)>& sink,
                                   const std::stop_token& stop) {
  end_ = counted_ = 0;
  at_end_ = line_matched_ = false;
  room_ = most_bytes;
  block_ = kSearchBlock;
  line_ = 1;
  line_begin_ = 0;
  last_lines_.clear();
  held_.clear();
  End end = End::searched;
  while (!at_end_) {
    if (stop.stop_requested()) return End::stopped;
    switch (fill(file)) {
      case Filled::failed:
        end = End::unreadable;
        at_end_ = true;
        break;
      case Filled::binary:
        end = End::binary;
        at_end_ = true;
        break;
      case Filled::none:
        at_end_ = true;
        [[fallthrough]];
      case Filled::some: {
        const auto* last = static_cast<const char*>(::memrchr(buffer_.data(), '\n', end_));
        std::size_t limit = end_;
        if (!at_end_ && last != nullptr) {
          limit = static_cast<std::size_t>(last - buffer_.data()) + 1;
        } else if (!at_end_ && block_ < kLargest) {
          block_ *= 2;
          buffer_.resize(std::max(buffer_.size(), block_));
          continue;
        }
        if (!search_window(limit, sink)) return End::stopped;
        roll(limit);
        break;
      }
    }
  }
  for (LineMatch& match : held_) {
    if (!sink(std::move(match))) return End::stopped;
  }
  return end;
}

/// Reads until the block is full. Returns `none` at the end of the file, even if this call has read its last bytes.
LineSearch::Filled LineSearch::fill(int file) {
  const std::size_t old = end_;
  while (end_ < block_) {
    const std::size_t wanted = std::min<std::uint64_t>(block_ - end_, room_);
    const ssize_t got = wanted == 0 ? 0 : ::read(file, buffer_.data() + end_, wanted);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Filled::failed;
    room_ -= static_cast<std::uint64_t>(got);
    if (std::memchr(buffer_.data() + end_, 0, static_cast<std::size_t>(got)) != nullptr) return Filled::binary;
    end_ += static_cast<std::size_t>(got);
    if (got == 0) return Filled::none;
  }
  return end_ == old ? Filled::none : Filled::some;
}

bool LineSearch::search_window(std::size_t limit, const std::function<bool(LineMatch)>& sink) {
  if (!complete_held(limit, sink)) return false;
  const std::string_view text = window(limit);
  std::size_t at = 0;
  if (line_matched_) {  // the rest of a line that was reported
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return true;
    at = end + 1;
  }
  while (at < limit) {
    const auto match = matcher_.find(text, at);
    if (!match) break;
    const std::size_t before = match->begin == 0 ? std::string_view::npos : text.rfind('\n', match->begin - 1);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::size_t end = std::min(text.find('\n', match->begin), limit);
    if (begin == limit) break;  // an empty match after the last line
    line_ += static_cast<std::uint64_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(counted_),
                                                   text.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
    counted_ = begin;
    const std::uint64_t dropped = begin == 0 ? line_begin_ : 0;
    LineMatch found{.line_number = line_, .column = dropped + match->begin - begin + 1};
    // Show the part of a long line that holds the match.
    const std::size_t into = match->begin - begin;
    const std::size_t shown = into < limits_.longest_line ? 0 : into - limits_.longest_line / 4;
    found.text = cut(text.substr(begin + shown, end - begin - shown));
    found.text_column = dropped + shown + 1;
    found.cut = dropped > 0 || found.text.size() < end - begin || (end == limit && !at_end_);
    if (limits_.before > 0) add_before(found.before, begin);
    if (limits_.after > 0 && !add_after(found.after, end + 1, limit) && !at_end_) {
      held_.push_back(std::move(found));
    } else if (!sink(std::move(found))) {
      return false;
    }
    if (end == limit && !at_end_) line_matched_ = true;
    at = end + 1;
  }
  return true;
}

bool LineSearch::complete_held(std::size_t limit, const std::function<bool(LineMatch)>& sink) {
  if (held_.empty()) return true;
  std::size_t from = 0;
  if (line_begin_ > 0) {  // the window begins within a line that was returned
    from = std::min(window(limit).find('\n'), limit - 1) + 1;
  }
  while (!held_.empty()) {
    // The oldest match is complete first.
    if (!add_after(held_.front().after, from, limit) && !at_end_) break;
    if (!sink(std::move(held_.front()))) return false;
    held_.pop_front();
  }
  for (std::size_t i = 1; i < held_.size(); ++i) (void)add_after(held_[i].after, from, limit);
  return true;
}

std::string LineSearch::cut(std::string_view line) const {
  return std::string{line.substr(0, limits_.longest_line)};
}

void LineSearch::add_before(std::vector<std::string>& lines, std::size_t begin) const {
  while (begin > 0 && lines.size() < limits_.before) {
    const std::size_t end = begin - 1;
    const std::size_t above = end == 0 ? std::string_view::npos : window(end).rfind('\n');
    begin = above == std::string_view::npos ? 0 : above + 1;
    lines.push_back(cut(window(end).substr(begin)));
  }
  for (auto line = last_lines_.rbegin(); line != last_lines_.rend() && lines.size() < limits_.before; ++line) {
    lines.push_back(*line);
  }
  std::ranges::reverse(lines);
}

bool LineSearch::add_after(std::vector<std::string>& lines, std::size_t at, std::size_t limit) const {
  while (lines.size() < limits_.after) {
    if (at >= limit) return false;
    const std::size_t end = std::min(window(limit).find('\n', at), limit);
    lines.push_back(cut(window(limit).substr(at, end - at)));
    at = end + 1;
  }
  return true;
}

/// Drops the searched part and moves the rest to the front.
void LineSearch::roll(std::size_t limit) {
  if (at_end_) return;
  const std::string_view text = window(limit);
  line_ +=
      static_cast<std::uint64_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(counted_), text.end(), '\n'));
  counted_ = 0;
  if (text.ends_with('\n')) {
    line_begin_ = 0;
    line_matched_ = false;
    if (limits_.before > 0) {
      std::vector<std::string> lines;
      add_before(lines, limit);
      last_lines_.assign(std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end()));
    }
  } else {
    // A line fills the block. If it has not matched yet, keep its end: a match may begin there.
    limit -= line_matched_ ? 0 : kOverlap;
    line_begin_ += limit;
  }
  end_ -= limit;
  std::memmove(buffer_.data(), buffer_.data() + limit, end_);
}

}  // namespace skiff::fs
