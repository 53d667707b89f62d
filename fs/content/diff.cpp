#include "fs/content/diff.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace skiff::fs {
namespace {

constexpr std::size_t kContext = 3;
constexpr std::size_t kMostCells = 250'000;  // cells of the table that finds equal lines within a changed piece

bool at_line_start(std::string_view text, std::size_t at) {
  return at == 0 || text[at - 1] == '\n';
}

std::size_t line_start(std::string_view text, std::size_t at) {
  return at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1 is 0
}

std::size_t next_line(std::string_view text, std::size_t at) {
  const std::size_t end = text.find('\n', at);
  return end == std::string_view::npos ? text.size() : end + 1;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = next_line(text, at);
    lines.push_back(text.substr(at, next - at));
    at = next;
  }
  return lines;
}

/// Widens the pieces to whole lines, and joins those that then meet.
std::vector<Changed> whole_lines(std::string_view old_text, std::string_view new_text,
                                 std::span<const Changed> changed) {
  std::vector<Changed> wide;
  // Returns the end of the last piece when widened, unless the next one begins before it.
  const auto line_end = [&] {
    const Changed& last = wide.back();
    const bool whole = at_line_start(old_text, last.old_end) && at_line_start(new_text, last.new_end);
    return whole ? last.old_end : next_line(old_text, last.old_end);
  };
  const auto widen = [&] {
    if (wide.empty()) return;
    const std::size_t more = line_end() - wide.back().old_end;
    wide.back().old_end += more;
    wide.back().new_end += more;
  };
  for (const Changed& piece : changed) {
    const std::size_t start = line_start(old_text, piece.old_begin);
    if (!wide.empty() && start <= line_end()) {
      wide.back().old_end = piece.old_end;
      wide.back().new_end = piece.new_end;
      continue;
    }
    widen();
    const std::size_t before = piece.old_begin - start;  // bytes of its first line that both texts share
    wide.push_back({.old_begin = start,
                    .old_end = piece.old_end,
                    .new_begin = piece.new_begin - before,
                    .new_end = piece.new_end});
  }
  widen();
  return wide;
}

/// Splits a piece of whole lines at the lines that both sides share, so that the diff shows as little as possible.
class Refined {
 public:
  Refined(std::string_view old_text, std::string_view new_text, std::vector<Changed>& into)
      : old_text_{old_text}, new_text_{new_text}, into_{into} {}

  void add(const Changed& piece) {
    olds_ = lines_of(old_text_.substr(piece.old_begin, piece.old_end - piece.old_begin));
    news_ = lines_of(new_text_.substr(piece.new_begin, piece.new_end - piece.new_begin));
    old_at_ = piece.old_begin;
    new_at_ = piece.new_begin;
    std::size_t first = 0;
    while (first < std::min(olds_.size(), news_.size()) && olds_[first] == news_[first]) {
      old_at_ += olds_[first].size();
      new_at_ += olds_[first].size();
      ++first;
    }
    std::size_t old_last = olds_.size();
    std::size_t new_last = news_.size();
    while (old_last > first && new_last > first && olds_[old_last - 1] == news_[new_last - 1]) {
      --old_last;
      --new_last;
    }
    const std::size_t rows = old_last - first;
    const std::size_t columns = new_last - first;
    if (rows > 0 && columns > 0 && rows <= kMostCells / columns) {
      split(first, rows, columns);
    } else {
      emit(first, old_last, first, new_last);
    }
  }

 private:
  void emit(std::size_t old_first, std::size_t old_last, std::size_t new_first, std::size_t new_last) {
    Changed piece{.old_begin = old_at_, .old_end = old_at_, .new_begin = new_at_, .new_end = new_at_};
    for (std::size_t i = old_first; i < old_last; ++i) piece.old_end += olds_[i].size();
    for (std::size_t i = new_first; i < new_last; ++i) piece.new_end += news_[i].size();
    old_at_ = piece.old_end;
    new_at_ = piece.new_end;
    if (piece.old_end > piece.old_begin || piece.new_end > piece.new_begin) into_.push_back(piece);
  }

  /// Splits by the longest common subsequence of lines.
  void split(std::size_t first, std::size_t rows, std::size_t columns) {
    std::vector<std::uint32_t> longest((rows + 1) * (columns + 1), 0);
    const auto cell = [&](std::size_t row, std::size_t column) -> std::uint32_t& {
      return longest[row * (columns + 1) + column];
    };
    for (std::size_t row = rows; row-- > 0;) {
      for (std::size_t column = columns; column-- > 0;) {
        cell(row, column) = olds_[first + row] == news_[first + column]
                                ? cell(row + 1, column + 1) + 1
                                : std::max(cell(row + 1, column), cell(row, column + 1));
      }
    }
    std::size_t row = 0;
    std::size_t column = 0;
    std::size_t old_first = 0;
    std::size_t new_first = 0;
    while (row < rows && column < columns) {
      if (olds_[first + row] == news_[first + column]) {
        emit(first + old_first, first + row, first + new_first, first + column);
        old_at_ += olds_[first + row].size();
        new_at_ += olds_[first + row].size();
        old_first = ++row;
        new_first = ++column;
      } else if (cell(row + 1, column) >= cell(row, column + 1)) {
        ++row;
      } else {
        ++column;
      }
    }
    emit(first + old_first, first + rows, first + new_first, first + columns);
  }

  std::string_view old_text_;
  std::string_view new_text_;
  std::vector<Changed>& into_;
  std::vector<std::string_view> olds_;
  std::vector<std::string_view> news_;
  std::size_t old_at_ = 0;
  std::size_t new_at_ = 0;
};

/// Pieces whose context would overlap, with their lines.
class Hunk {
 public:
  Hunk(std::string_view old_text, std::string_view new_text) : old_text_{old_text}, new_text_{new_text} {}

  /// `old_line` and `new_line` are the numbers of lines before the first piece.
  std::string run(std::span<const Changed> pieces, std::size_t old_line, std::size_t new_line) {
    std::size_t begin = pieces.front().old_begin;
    for (std::size_t i = 0; i < kContext && begin > 0; ++i) {
      begin = line_start(old_text_, begin - 1);
      --old_line;
      --new_line;
    }
    std::size_t at = begin;
    for (const Changed& piece : pieces) {
      append(' ', old_text_.substr(at, piece.old_begin - at));
      append('-', old_text_.substr(piece.old_begin, piece.old_end - piece.old_begin));
      append('+', new_text_.substr(piece.new_begin, piece.new_end - piece.new_begin));
      at = piece.old_end;
    }
    std::size_t end = at;
    for (std::size_t i = 0; i < kContext && end < old_text_.size(); ++i) end = next_line(old_text_, end);
    append(' ', old_text_.substr(at, end - at));
    return "@@ -" + range(old_line, old_count_) + " +" + range(new_line, new_count_) + " @@\n" + body_;
  }

 private:
  static std::string range(std::size_t before, std::size_t count) {
    // A range without lines names the line before it.
    return std::to_string(count == 0 ? before : before + 1) + "," + std::to_string(count);
  }

  void append(char sign, std::string_view text) {
    for (const std::string_view line : lines_of(text)) {
      body_ += sign;
      body_ += line;
      if (!line.ends_with('\n')) body_ += "\n\\ No newline at end of file\n";
      old_count_ += sign != '+' ? 1 : 0;
      new_count_ += sign != '-' ? 1 : 0;
    }
  }

  std::string_view old_text_;
  std::string_view new_text_;
  std::string body_;
  std::size_t old_count_ = 0;
  std::size_t new_count_ = 0;
};

std::size_t count_lines(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

/// Formats a name for the diff's head as git does: quoted when it is ambiguous.
std::string head(std::string_view sign, std::string_view prefix, std::string_view name) {
  while (name.starts_with('/')) name.remove_prefix(1);
  std::string text;
  bool strange = false;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
      strange = true;
    } else if (byte < 0x20 || byte >= 0x7f) {
      for (const unsigned shift : {6U, 3U, 0U}) {
        if (shift == 6) text += '\\';
        text += static_cast<char>('0' + ((byte >> shift) & 7U));
      }
      strange = true;
    } else {
      text += c;
    }
  }
  std::string line{sign};
  line += strange ? " \"" : " ";
  line += prefix;
  line += text;
  if (strange) line += '"';
  if (!strange && name.contains(' ')) line += '\t';
  return line += '\n';
}

}  // namespace

Diff unified_diff(std::string_view name, std::string_view old_text, std::string_view new_text,
                  std::span<const Changed> changed, std::size_t most_bytes) {
  std::vector<Changed> pieces;
  Refined refined{old_text, new_text, pieces};
  for (const Changed& piece : whole_lines(old_text, new_text, changed)) refined.add(piece);

  Diff diff;
  std::size_t old_line = 0;
  std::size_t new_line = 0;
  std::size_t old_at = 0;
  std::size_t new_at = 0;
  for (std::size_t first = 0; first < pieces.size();) {
    old_line += count_lines(old_text.substr(old_at, pieces[first].old_begin - old_at));
    new_line += count_lines(new_text.substr(new_at, pieces[first].new_begin - new_at));
    old_at = pieces[first].old_begin;
    new_at = pieces[first].new_begin;
    std::size_t last = first + 1;
    while (last < pieces.size() &&
           count_lines(old_text.substr(pieces[last - 1].old_end, pieces[last].old_begin - pieces[last - 1].old_end)) <=
               2 * kContext) {
      ++last;
    }
    if (diff.text.empty()) diff.text = head("---", "a/", name) + head("+++", "b/", name);
    const std::string hunk =
        Hunk{old_text, new_text}.run(std::span{pieces}.subspan(first, last - first), old_line, new_line);
    if (diff.text.size() + hunk.size() > most_bytes) {
      diff.cut = true;
      return diff;
    }
    diff.text += hunk;
    first = last;
  }
  return diff;
}

}  // namespace skiff::fs
