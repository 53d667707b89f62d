#include "fs/tree/list.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "fs/path/descriptor.hpp"
#include "fs/path/directory_reader.hpp"
#include "fs/path/stop.hpp"
#include "fs/tree/name_batch.hpp"

namespace skiff::fs {
namespace {

constexpr std::size_t kMostListDepth = 256;     // one descriptor each
constexpr std::size_t kMostVisited = 500'000;   // names visited for one page
constexpr std::size_t kLookForStop = 4096;      // names between two checks whether the list is still wanted
constexpr std::size_t kLeastBatch = 256;        // names sorted at a time
constexpr std::uint64_t kMostHashed = 1 << 20;  // bytes of one fresh file
constexpr std::uint64_t kMostHashedInAll = 16 << 20;

/// A directory on the way to the current position. Its names come in sorted batches of bounded size.
struct Level {
  DirectoryReader reader;
  std::string prefix;  // prefix of its entries' paths
  NameBatch batch = {};
  std::size_t next = 0;
  std::string after = {};  // names up to this one are done
  bool has_after = false;
  std::string resume = {};  // the rest of the cursor's path, below the name `resume_at`
  std::string resume_at = {};
  bool more = true;  // there may be names after the batch
};

class Listing {
 public:
  Listing(const ListOptions& options, const ListSink& sink)
      : options_{options}, sink_{sink}, limit_{std::max<std::size_t>(options.limit, 1)} {}

  Result<PageEnd> run(UniqueFd directory) {
    SKIFF_TRY_VOID(enter(directory.get(), "", options_.cursor));
    directory.reset();
    while (!levels_.empty()) {
      if (options_.stop.stop_requested()) return stopped_error();
      Level& level = levels_.back();
      if (level.next == level.batch.size()) {
        if (!level.more) {
          levels_.pop_back();
          continue;
        }
        SKIFF_TRY_VOID(fill(level));
        continue;
      }
      SKIFF_TRY(auto done, visit(level, level.batch[level.next++]));
      if (done) break;
    }
    if (levels_.empty()) end_.next_cursor.clear();
    return std::move(end_);
  }

 private:
  Result<> enter(int directory, std::string prefix, std::string_view cursor) {
    SKIFF_TRY(auto reader, DirectoryReader::open(directory));
    Level level{.reader = std::move(reader), .prefix = std::move(prefix)};
    if (!cursor.empty()) {
      const std::size_t slash = cursor.find('/');
      level.resume_at = cursor.substr(0, slash);
      level.after = level.resume_at;
      level.has_after = true;
      if (slash != std::string_view::npos) level.resume = cursor.substr(slash + 1);
    }
    levels_.push_back(std::move(level));
    return {};
  }

  /// Reads the next names in order: as many as the page may need, found in one pass over the directory.
  Result<> fill(Level& level) {
    const std::size_t most = std::max(limit_ - given_ + 1, kLeastBatch);
    level.batch.clear();
    level.next = 0;
    level.more = false;
    level.reader.rewind();
    DirectoryReader::Name found;
    for (;;) {
      SKIFF_TRY(auto got, level.reader.next(found));
      if (!got) break;
      if (++visited_ % kLookForStop == 0 && options_.stop.stop_requested()) return stopped_error();
      // The directory of the cursor is not listed again, but entered.
      const bool resumed = level.has_after && !level.resume_at.empty() && found.name == level.resume_at;
      if (level.has_after && found.name <= level.after && !resumed) continue;
      const bool maybe_directory = options_.depth == Depth::all && (found.type == DT_DIR || found.type == DT_UNKNOWN);
      const bool wanted = !resumed && (!options_.wanted || options_.wanted(level.prefix + std::string{found.name}));
      if (!wanted && !maybe_directory) continue;
      level.batch.add({.text = found.name, .maybe_directory = maybe_directory, .wanted = wanted});
      if (level.batch.size() >= 2 * most) cut(level, most);
    }
    cut(level, most);
    level.batch.sort();
    const std::size_t count = level.batch.size();
    // `resume_at` sorts before all other names, so a different first name means that it is gone.
    if (count == 0 || level.batch[0].text != level.resume_at) level.resume_at.clear();
    if (count != 0) {
      level.after = level.batch[count - 1].text;
      level.has_after = true;
    }
    return {};
  }

  static void cut(Level& level, std::size_t most) {
    if (level.batch.size() > most) level.more = true;
    level.batch.keep_first(most);
  }

  /// Visits one name; returns true when the page is complete.
  Result<bool> visit(Level& level, const NameBatch::Name& candidate) {
    const char* const name = candidate.text.data();  // a NUL follows
    const bool resumed = !level.resume_at.empty() && candidate.text == level.resume_at;
    const std::string below = resumed ? std::exchange(level.resume, {}) : std::string{};
    if (resumed) level.resume_at.clear();
    path_.assign(level.prefix).append(candidate.text);
    const bool full = given_ == limit_;
    // End the page here: all entries so far are listed. A page may also end at an entry that is not wanted.
    if (candidate.wanted && full) return true;
    if (candidate.maybe_directory && !resumed && visited_ > kMostVisited && !end_.next_cursor.empty()) return true;

    auto entry = entry_at(level.reader.fd(), name);
    if (!entry && entry.error().code == Errc::path_not_found) return false;  // gone meanwhile
    if (!entry) return std::unexpected{std::move(entry.error())};
    const bool directory = candidate.maybe_directory && entry->type == EntryType::directory;
    if (candidate.wanted) give(level.reader.fd(), name, *entry);
    if (!resumed) end_.next_cursor = path_;
    if (!directory) return false;
    if (levels_.size() == kMostListDepth) {
      end_.too_deep = true;
      return false;
    }
    const UniqueFd inside{::openat(level.reader.fd(), name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    if (!inside && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
      return std::unexpected{system_error(errno, "open " + in_quotes(path_))};
    }
    // The directory is gone, replaced by a link, or unreadable: list only its own entry.
    if (!inside) {
      if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP) ++end_.unreadable;
      return false;
    }
    auto entered = enter(inside.get(), path_ + "/", below);
    if (!entered && entered.error().code != Errc::permission_denied) return std::unexpected{std::move(entered.error())};
    if (!entered) ++end_.unreadable;
    return false;
  }

  void give(int directory, const char* name, const Entry& entry) {
    std::array<char, kMostTimeTag> by_time;
    std::string by_content;
    std::string_view tag;
    if (options_.tags && time_tag_is_final(entry)) {
      tag = time_tag(entry, by_time);
    } else if (options_.tags && entry.size <= std::min(kMostHashed, kMostHashedInAll - hashed_)) {
      hashed_ += entry.size;
      const UniqueFd object{::openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)};
      if (object) by_content = entity_tag(object.get(), entry).value_or(std::string{});
      tag = by_content;
    }
    ++given_;
    sink_({.path = path_, .entry = entry, .tag = tag});
  }

  const ListOptions& options_;
  const ListSink& sink_;
  const std::size_t limit_;
  std::vector<Level> levels_;
  std::string path_;  // path of the current name
  PageEnd end_;
  std::size_t given_ = 0;  // entries of the page
  std::size_t visited_ = 0;
  std::uint64_t hashed_ = 0;
};

}  // namespace

Result<PageEnd> list(const Tree& tree, std::string_view path, const ListOptions& options, const ListSink& sink) {
  SKIFF_TRY(auto directory, tree.open_directory(path));
  return Listing{options, sink}.run(std::move(directory));
}

Result<Page> list(const Tree& tree, std::string_view path, const ListOptions& options) {
  Page page;
  const ListSink collect = [&entries = page.entries](const SeenEntry& one) {
    entries.push_back({.path = std::string{one.path}, .entry = one.entry, .tag = std::string{one.tag}});
  };
  SKIFF_TRY(static_cast<PageEnd&>(page), list(tree, path, options, collect));
  return page;
}

}  // namespace skiff::fs
