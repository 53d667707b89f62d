#include "container/changes/text_diff.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>

#include "container/changes/equal.hpp"
#include "fs/content/diff.hpp"
#include "fs/content/read.hpp"
#include "fs/path/descriptor.hpp"

namespace skiff::container::changes {
namespace {

constexpr std::string_view kNoFile = "/dev/null";

/// One side of a difference.
struct Side {
  std::string text;
  bool is_too_large = false;
};

Result<std::string> read_file(int file) {
  std::string text(kMostShown + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    SKIFF_TRY(auto got, fs::read_at(file, size, std::span{text}.subspan(size)));
    if (got == 0) break;
    size += got;
  }
  text.resize(size);
  return text;
}

Result<Side> read_side(const fs::Tree& tree, const std::string& path, mode_t mode) {
  Side side;
  if (S_ISLNK(mode)) {
    SKIFF_TRY(auto link, tree.open_object(path, fs::Links::keep));
    SKIFF_TRY(side.text, target_of(link.get()));
  } else if (S_ISREG(mode)) {
    SKIFF_TRY(auto file, tree.open_file(path, O_RDONLY));
    SKIFF_TRY(side.text, read_file(file.get()));
  }
  side.is_too_large = side.text.size() > kMostShown;
  return side;
}

/// "100644", as in git: a file's mode is one of two.
std::string_view git_mode(mode_t mode) {
  if (S_ISLNK(mode)) return "120000";
  return (mode & S_IXUSR) != 0 ? "100755" : "100644";
}

std::string git_head(const Change& change, std::string_view old_name, std::string_view new_name) {
  std::string head = "diff --git ";
  head.append(old_name).append(" ").append(new_name).append("\n");
  if (change.kind == Kind::added) return head.append("new file mode ").append(git_mode(change.mode)).append("\n");
  if (change.kind == Kind::deleted) {
    return head.append("deleted file mode ").append(git_mode(change.old_mode)).append("\n");
  }
  if (git_mode(change.mode) == git_mode(change.old_mode)) return head;
  head.append("old mode ").append(git_mode(change.old_mode)).append("\n");
  return head.append("new mode ").append(git_mode(change.mode)).append("\n");
}

bool is_shown(mode_t mode) {
  return mode == 0 || S_ISREG(mode) || S_ISLNK(mode);
}

/// Another type takes two diffs, as in git.
Result<TextDiff> two_diffs(const Workspace& workspace, const Change& change) {
  SKIFF_TRY(auto diff, text_diff(workspace, {.path = change.path, .kind = Kind::deleted, .old_mode = change.old_mode}));
  Change added = change;
  added.kind = Kind::added;
  added.old_mode = 0;
  SKIFF_TRY(const auto more, text_diff(workspace, added));
  diff.text += more.text;
  if (diff.shown == Shown::text || diff.shown == Shown::nothing)
    diff.shown = more.text.empty() ? diff.shown : more.shown;
  return diff;
}

/// The names in the two first lines of a unified diff, as git quotes them.
std::string_view name_in(std::string_view line) {
  constexpr std::string_view kSign = "--- ";
  line.remove_prefix(kSign.size());
  line = line.substr(0, line.find('\n'));
  if (line.ends_with('\t')) line.remove_suffix(1);
  return line;
}

}  // namespace

Result<TextDiff> text_diff(const Workspace& workspace, const Change& change) {
  if (change.kind == Kind::changed && ((change.mode ^ change.old_mode) & S_IFMT) != 0) {
    return two_diffs(workspace, change);
  }
  if (!is_shown(change.mode) || !is_shown(change.old_mode)) return TextDiff{.text = {}, .shown = Shown::nothing};
  SKIFF_TRY(const auto old_side, read_side(workspace.directory, change.path, change.old_mode));
  SKIFF_TRY(const auto new_side, read_side(workspace.layer, change.path, change.mode));
  // Its first two lines are the names, which a diff of two lines always has.
  constexpr fs::Changed kAll{.old_begin = 0, .old_end = 2, .new_begin = 0, .new_end = 2};
  const fs::Diff names = fs::unified_diff(change.path, "-\n", "+\n", std::array{kAll});
  const std::string_view old_name = name_in(names.text);
  const std::string_view new_name = name_in(std::string_view{names.text}.substr(names.text.find('\n') + 1));
  TextDiff diff{.text = git_head(change, old_name, new_name), .shown = Shown::text};
  const auto say = [&](std::string_view what) {
    diff.text.append(what).append(" files ").append(old_name).append(" and ").append(new_name).append(" differ\n");
  };
  if (old_side.is_too_large || new_side.is_too_large) {
    diff.shown = Shown::too_large;
    say("Large");
    return diff;
  }
  if (old_side.text.contains('\0') || new_side.text.contains('\0')) {
    diff.shown = Shown::binary;
    say("Binary");
    return diff;
  }
  const std::array all{
      fs::Changed{.old_begin = 0, .old_end = old_side.text.size(), .new_begin = 0, .new_end = new_side.text.size()}};
  const fs::Diff lines =
      fs::unified_diff(change.path, old_side.text, new_side.text, all, 2 * static_cast<std::size_t>(kMostShown) * 2);
  if (lines.text.empty()) return diff;
  const std::size_t first = lines.text.find('\n') + 1;
  const std::size_t second = lines.text.find('\n', first) + 1;
  const auto line = [&](std::string_view sign, bool is_absent, std::string_view whole) {
    diff.text += is_absent ? std::string{sign}.append(" ").append(kNoFile).append("\n") : std::string{whole};
  };
  line("---", change.kind == Kind::added, std::string_view{lines.text}.substr(0, first));
  line("+++", change.kind == Kind::deleted, std::string_view{lines.text}.substr(first, second - first));
  diff.text += lines.text.substr(second);
  return diff;
}

}  // namespace skiff::container::changes
