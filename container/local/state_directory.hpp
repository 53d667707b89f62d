#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "container/agent/signing_key.hpp"

namespace skiff::container {

/// The directory in which what is on this machine is remembered: nobody else may look into it (0700), nor into its
/// files (0600). A value: it holds the path alone.
class StateDirectory {
 public:
  /// `path`, or when that is empty $XDG_STATE_HOME/skiff, or ~/.local/state/skiff (XDG Base Directory Specification).
  /// It is made when it is missing; one that others may enter is closed to them, one that belongs to somebody else is
  /// refused.
  [[nodiscard]] static Result<StateDirectory> open(std::string path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// The key of this directory, made when there is none; two processes that ask at once get the same.
  [[nodiscard]] Result<SigningKey> signing_key() const;

 private:
  explicit StateDirectory(std::filesystem::path path) : path_{std::move(path)} {}
  std::filesystem::path path_;
};

/// Replaces the file as a whole (a temporary name, rename(2)), mode 0600.
[[nodiscard]] Result<> write_private_file(const std::filesystem::path& path, std::string_view text);

/// Makes a directory, 0700. `already_exists` if there is one.
[[nodiscard]] Result<> make_private_directory(const std::filesystem::path& path);

/// Removes a directory with everything in it, also below directories that are write-protected. Links are not followed.
/// Nothing to do when it isn't there. It blocks as long as the disk takes.
[[nodiscard]] Result<> remove_directory(const std::filesystem::path& path);

}  // namespace skiff::container
