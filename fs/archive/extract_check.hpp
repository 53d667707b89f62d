#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/archive/extract.hpp"
#include "fs/archive/tar.hpp"

namespace skiff::fs {

/// Looks at each member of an archive before any is unpacked: whether it may be, beside the others and what is on disk.
/// Keeps 64 bits of each path. Two that collide can get an archive refused, and nothing else: unpacking passes no link
/// whatever was found here.
class ExtractCheck {
 public:
  ExtractCheck(const UniqueFd& directory, const ExtractOptions& options) : directory_{directory}, options_{options} {}

  /// The path that the member will have, "" for the directory itself; or why the archive is refused.
  [[nodiscard]] Result<std::string> check(const TarEntry& entry);
  [[nodiscard]] const ExtractSummary& summary() const noexcept { return summary_; }
  /// What the files take on the disk, about: without the holes of sparse files.
  [[nodiscard]] std::uint64_t stored() const noexcept { return stored_; }

 private:
  enum class Kind : std::uint8_t { directory, file, link };
  [[nodiscard]] Result<> check_in_archive(const TarEntry& entry, std::string_view path);
  [[nodiscard]] Result<> check_on_disk(const TarEntry& entry, const std::string& path);
  [[nodiscard]] Result<bool> open_parent(std::string_view path);

  const UniqueFd& directory_;
  const ExtractOptions& options_;
  ExtractSummary summary_;
  std::uint64_t stored_ = 0;
  std::unordered_map<std::uint64_t, Kind> kinds_;  // by the hash of the path
  std::string parent_path_;                        // the directory that `parent_` is, on disk
  UniqueFd parent_;
  bool parent_known_ = false;
};

}  // namespace skiff::fs
