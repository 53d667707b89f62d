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

/// Checks each member of an archive against the other members and the disk before any is unpacked. It keeps a 64-bit
/// hash of each path. A collision can only get an archive refused: unpacking passes no link, whatever was found here.
class ExtractCheck {
 public:
  ExtractCheck(const UniqueFd& directory, const ExtractOptions& options) : directory_{directory}, options_{options} {}

  /// Returns the path of the member, "" for the directory itself, or the error for which the archive is refused.
  [[nodiscard]] Result<std::string> check(const TarEntry& entry);
  [[nodiscard]] const ExtractSummary& summary() const noexcept { return summary_; }
  /// The disk space of the files, about: without the holes of sparse files.
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
  std::unordered_map<std::uint64_t, Kind> kinds_;  // key: hash of the path
  std::string parent_path_;                        // path of `parent_` on disk
  UniqueFd parent_;
  bool parent_known_ = false;
};

}  // namespace skiff::fs
