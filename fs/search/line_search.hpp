#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "fs/search/line_matcher.hpp"

namespace skiff::fs {

/// A matching line; only a part of it if it is longer than `SearchLimits::longest_line`.
struct LineMatch {
  std::uint64_t line_number = 0;  ///< counted from 1
  std::uint64_t column = 0;       ///< start of the first match in the line, in bytes from 1
  std::uint64_t text_column = 1;  ///< start of `text` in the line: above 1 when the line was cut in front
  std::string text = {};          ///< without the line end
  bool cut = false;               ///< the line is longer than `text`
  std::vector<std::string> before = {}, after = {};
};

struct SearchLimits {
  unsigned before = 0, after = 0;        ///< lines of context, 0..100
  std::size_t longest_line = 16 * 1024;  ///< bytes of a line that are returned
};

/// Searches files one after the other, in windows of whole lines, with one buffer: 64 KiB, and up to 1 MiB for a line
/// of that length. A longer line is searched piece by piece; a match across the border of two pieces is found if it is
/// shorter than 4 KiB. Not thread-safe.
class LineSearch {
 public:
  LineSearch(const LineMatcher& matcher, const SearchLimits& limits);

  enum class End : unsigned char {
    searched,
    binary,   ///< a zero byte was found: its block and the rest of the file were not searched
    stopped,  ///< the sink or `stop` ended the search
    unreadable,
  };
  /// Searches at most `most_bytes` of `file`. `sink` takes each match and returns false to stop.
  End search(int file, std::uint64_t most_bytes, const std::function<bool(LineMatch)>& sink,
             const std::stop_token& stop = {});

 private:
  enum class Filled : unsigned char { some, none, binary, failed };
  Filled fill(int file);
  [[nodiscard]] bool search_window(std::size_t limit, const std::function<bool(LineMatch)>& sink);
  [[nodiscard]] bool complete_held(std::size_t limit, const std::function<bool(LineMatch)>& sink);
  [[nodiscard]] std::string cut(std::string_view line) const;
  void add_before(std::vector<std::string>& lines, std::size_t begin) const;
  /// Adds lines from `at` on until `lines` is full; returns false when the window ends first.
  bool add_after(std::vector<std::string>& lines, std::size_t at, std::size_t limit) const;
  void roll(std::size_t limit);
  [[nodiscard]] std::string_view window(std::size_t limit) const { return {buffer_.data(), limit}; }

  LineMatcher matcher_;
  SearchLimits limits_;
  std::vector<char> buffer_;  ///< as large as the largest block so far
  std::size_t block_ = 0;     ///< bytes that are read before they are searched; grows within a file with a long line
  std::size_t end_ = 0;       // end of the data in the buffer
  bool at_end_ = false;       // the file has ended
  std::uint64_t room_ = 0;    // bytes that may still be read
  std::uint64_t line_ = 1;    // number of the line at `counted_`
  std::size_t counted_ = 0;
  std::uint64_t line_begin_ = 0;        // bytes of the first line in the buffer that have been dropped
  bool line_matched_ = false;           // that line has matched already
  std::deque<std::string> last_lines_;  // lines before the window, for context
  std::deque<LineMatch> held_;          // matches that wait for the lines after them
};

}  // namespace skiff::fs
