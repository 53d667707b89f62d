#include "fs/content/replacement.hpp"

#include <utility>

#include "fs/content/edit.hpp"

namespace skiff::fs {
namespace {

constexpr std::size_t kMostOccurrences = 1'000'000;

std::string field_of(std::size_t index) {
  return "/edits/" + std::to_string(index) + "/old";
}

/// Returns a hint when the text occurs with other line ends; else empty.
std::string other_line_ends(std::string_view text, std::string_view old) {
  std::string other;
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (old[i] == '\r' && i + 1 < old.size() && old[i + 1] == '\n') continue;
    if (old[i] == '\n' && (i == 0 || old[i - 1] != '\r')) other += '\r';
    other += old[i];
  }
  if (other == old || !text.contains(other)) return {};
  if (other.contains('\r')) return ": it does with lines that end in CR LF (\\r\\n), as in the file";
  return ": it does with lines that end in LF (\\n), as in the file";
}

Result<std::vector<std::size_t>> find(std::string_view text, const Edit& edit, std::size_t index, std::size_t most) {
  if (edit.old.empty()) return fail(Errc::invalid_field, "the text to replace is empty", field_of(index));
  std::vector<std::size_t> found;
  for (std::size_t at = text.find(edit.old); at != std::string_view::npos;
       at = text.find(edit.old, at + edit.old.size())) {
    found.push_back(at);
    if (found.size() > most) {
      return fail(Errc::payload_too_large, "there are more than a million places to edit", field_of(index));
    }
  }
  if (edit.count == 0 ? !found.empty() : found.size() == edit.count) return found;
  const std::string hint = found.empty() ? other_line_ends(text, edit.old) : "";
  const std::string wanted = edit.count == 0 ? "at least once" : std::to_string(edit.count) + " times";
  return fail(Errc::edit_not_found,
              "edit " + std::to_string(index) + ": its text occurs " + std::to_string(found.size()) +
                  " times, expected " + wanted + hint,
              field_of(index));
}

/// A run of bytes that both texts share.
struct Kept {
  std::size_t old_begin = 0;
  std::size_t new_begin = 0;
  std::size_t size = 0;
};

/// Returns the rest of the runs after `size` bytes at each of `found`, in the new text so far, were replaced by `by`
/// bytes.
std::vector<Kept> cut(const std::vector<Kept>& runs, std::span<const std::size_t> found, std::size_t size,
                      std::size_t by) {
  std::vector<Kept> left;
  std::size_t done = 0;  // occurrences before the current position
  for (const Kept& run : runs) {
    const std::size_t end = run.new_begin + run.size;
    std::size_t at = run.new_begin;
    const auto keep_up_to = [&](std::size_t to) {
      if (to <= at) return;
      left.push_back({.old_begin = run.old_begin + (at - run.new_begin),
                      .new_begin = at + done * by - done * size,
                      .size = to - at});
    };
    while (done < found.size() && found[done] + size <= at) ++done;
    while (done < found.size() && found[done] < end) {
      keep_up_to(found[done]);
      at = found[done] + size;
      if (at > end) break;  // the occurrence reaches into the next run
      ++done;
    }
    keep_up_to(end);
  }
  return left;
}

std::string rewrite(std::string_view text, std::span<const std::size_t> found, const Edit& edit) {
  std::string made;
  made.reserve(text.size() + found.size() * edit.replacement.size() - found.size() * edit.old.size());
  std::size_t at = 0;
  for (const std::size_t next : found) {
    made += text.substr(at, next - at);
    made += edit.replacement;
    at = next + edit.old.size();
  }
  return made += text.substr(at);
}

std::vector<Changed> gaps(const std::vector<Kept>& runs, std::size_t old_size, std::size_t new_size) {
  std::vector<Changed> changed;
  Changed gap;
  const auto close = [&](std::size_t old_end, std::size_t new_end) {
    gap.old_end = old_end;
    gap.new_end = new_end;
    if (gap.old_end > gap.old_begin || gap.new_end > gap.new_begin) changed.push_back(gap);
  };
  for (const Kept& run : runs) {
    close(run.old_begin, run.new_begin);
    gap = {.old_begin = run.old_begin + run.size, .old_end = 0, .new_begin = run.new_begin + run.size, .new_end = 0};
  }
  close(old_size, new_size);
  return changed;
}

}  // namespace

Result<Replaced> replace(std::string_view text, std::span<const Edit> edits) {
  Replaced replaced{.text = std::string{text}, .changed = {}};
  std::vector<Kept> runs{{.old_begin = 0, .new_begin = 0, .size = text.size()}};
  std::size_t occurrences = 0;
  for (std::size_t i = 0; i < edits.size(); ++i) {
    SKIFF_TRY(auto found, find(replaced.text, edits[i], i, kMostOccurrences - occurrences));
    occurrences += found.size();
    const std::size_t without = replaced.text.size() - found.size() * edits[i].old.size();
    if (without > kMostEditedBytes ||
        (!edits[i].replacement.empty() && found.size() > (kMostEditedBytes - without) / edits[i].replacement.size())) {
      return fail(Errc::payload_too_large, "edit " + std::to_string(i) + ": the file would be too large");
    }
    runs = cut(runs, found, edits[i].old.size(), edits[i].replacement.size());
    replaced.text = rewrite(replaced.text, found, edits[i]);
  }
  replaced.changed = gaps(runs, text.size(), replaced.text.size());
  return replaced;
}

}  // namespace skiff::fs
