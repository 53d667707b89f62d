#include "container/changes/applied_files.hpp"

#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/small_file.hpp"
#include "container/host/state_directory.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container::changes {
namespace {

constexpr std::size_t kLongestAppliedRecord = std::size_t{256} << 20U;

struct AppliedFile {
  std::uint64_t inode = 0;
  std::int64_t changed_ns = 0;

  static constexpr auto fields =
      std::tuple{protocol::field("inode", &AppliedFile::inode, "Inode in the directory"),
                 protocol::field("changed_ns", &AppliedFile::changed_ns, "Its ctime, in nanoseconds since 1970")};
};

struct AppliedRecord {
  std::vector<AppliedFile> files;

  static constexpr auto fields = std::tuple{protocol::field("files", &AppliedRecord::files, "What apply has written")};
};

std::int64_t ctime_ns(const struct stat& status) {
  return static_cast<std::int64_t>(status.st_ctim.tv_sec) * 1'000'000'000 + status.st_ctim.tv_nsec;
}

}  // namespace

Result<AppliedFiles> AppliedFiles::load(std::filesystem::path file, std::int64_t since_ns) {
  AppliedFiles applied;
  applied.file_ = std::move(file);
  applied.since_ns_ = since_ns;
  auto text = read_small_file(applied.file_, kLongestAppliedRecord);
  if (!text && text.error().code == Errc::path_not_found) return applied;
  if (!text) return std::unexpected{std::move(text.error())};
  SKIFF_TRY(auto record, protocol::decode<AppliedRecord>(*text, {.max_bytes = kLongestAppliedRecord}));
  for (const AppliedFile& one : record.files) applied.ctimes_.emplace(one.inode, one.changed_ns);
  return applied;
}

Result<> AppliedFiles::save() {
  if (!has_news_) return {};
  AppliedRecord record;
  for (const auto& [inode, changed_ns] : ctimes_) record.files.push_back({.inode = inode, .changed_ns = changed_ns});
  SKIFF_TRY_VOID(write_private_file(file_, protocol::to_json(record)));
  has_news_ = false;
  return {};
}

bool AppliedFiles::is_changed(const struct stat& status) const {
  const std::int64_t changed = ctime_ns(status);
  if (changed <= since_ns_) return false;
  const auto known = ctimes_.find(status.st_ino);
  return known == ctimes_.end() || known->second != changed;
}

void AppliedFiles::note(const struct stat& status) {
  const std::int64_t changed = ctime_ns(status);
  has_news_ = std::exchange(ctimes_[status.st_ino], changed) != changed || has_news_;
}

void AppliedFiles::forget(const struct stat& status) {
  has_news_ = ctimes_.erase(status.st_ino) > 0 || has_news_;
}

}  // namespace skiff::container::changes
