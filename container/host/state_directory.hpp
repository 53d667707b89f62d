#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "container/agent/signing_key.hpp"

namespace skiff::container {

/// The directory that stores the state of this machine's sandboxes. Other users may read neither it (0700) nor its
/// files (0600). This class stores only the path.
class StateDirectory {
 public:
  /// Opens `path`, or when that is empty $XDG_STATE_HOME/skiff, or ~/.local/state/skiff (XDG Base Directory
  /// Specification). A missing directory is created. Other users lose their access to it. A directory of another user
  /// is refused, and for root also one below a directory that another user can replace.
  [[nodiscard]] static Result<StateDirectory> open(std::string path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// The key of this directory, created if there is none. Two processes that ask at the same time get the same key.
  [[nodiscard]] Result<SigningKey> signing_key() const;

 private:
  explicit StateDirectory(std::filesystem::path path) : path_{std::move(path)} {}
  std::filesystem::path path_;
};

/// Whether a file is on the disk when its writer goes on. Without that a loss of power may leave an empty file.
enum class Durable : bool { no, yes };

/// Replaces the file as a whole (a temporary name, rename(2)), mode 0600.
[[nodiscard]] Result<> write_private_file(const std::filesystem::path& path, std::string_view text,
                                          Durable durable = Durable::yes);

/// Creates a directory with mode 0700. `already_exists` if there is one.
[[nodiscard]] Result<> create_private_directory(const std::filesystem::path& path);

/// Removes a directory with everything in it, also below directories that are write-protected. Links are not followed.
/// A missing directory is not an error. It blocks as long as the disk takes.
[[nodiscard]] Result<> remove_directory(const std::filesystem::path& path);

}  // namespace skiff::container
