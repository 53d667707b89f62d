#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "container/changes/apply.hpp"
#include "container/changes/compare.hpp"
#include "tests/support/files_test.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::container::changes {

/// A directory with a layer above it, as an overlay writes it, and a directory outside of both.
class Layered : public ::testing::Test {
 protected:
  Layered() {
    for (const auto& one : {under, layer, outside, state}) std::filesystem::create_directory(one);
    test::put(outside / "secret", "secret");
  }

  static std::int64_t clock_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  }
  /// Waits for the next tick of the clock that files have their times from.
  static std::int64_t next_tick() {
    const std::int64_t before = clock_ns();
    while (clock_ns() == before) {
    }
    return clock_ns();
  }

  /// What the directory has by now was there before the sandbox.
  void begin() {
    next_tick();
    since_ns = next_tick();
    next_tick();
  }

  static void write(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    test::put(path, text);
  }
  void whiteout(const std::string& path) const {
    std::filesystem::create_directories((layer / path).parent_path());
    ASSERT_EQ(::mknod((layer / path).c_str(), S_IFCHR, 0), 0) << path;
  }
  void mark(const std::string& path, const char* name, const std::string& value) const {
    ASSERT_EQ(::setxattr((layer / path).c_str(), name, value.data(), value.size(), 0), 0) << path;
  }

  [[nodiscard]] MountedLayer mount() const {
    struct stat status{};
    ::stat(under.c_str(), &status);
    return {.directory = under,
            .seen_as = "/workspace",
            .device = status.st_dev,
            .inode = status.st_ino,
            .layer = layer,
            .record = state / "applied.json",
            .since_ns = since_ns};
  }
  [[nodiscard]] Workspace workspace() const {
    auto opened = Workspace::open(mount());
    if (!opened) throw std::runtime_error{opened.error().message};
    return std::move(*opened);
  }

  [[nodiscard]] Found find(const std::vector<std::string>& paths = {}) const {
    auto found = compare(workspace(), paths);
    if (!found) throw std::runtime_error{found.error().message};
    return std::move(*found);
  }
  /// "A a", "M b": all changes, with a slash after directories.
  [[nodiscard]] std::vector<std::string> changes(const std::vector<std::string>& paths = {}) const {
    return lines(find(paths).changes);
  }
  static std::vector<std::string> lines(const std::vector<Change>& changes) {
    std::vector<std::string> all;
    for (const Change& one : changes) {
      const std::string letter = one.kind == Kind::added ? "A " : one.kind == Kind::deleted ? "D " : "M ";
      const bool is_directory = S_ISDIR(one.kind == Kind::deleted ? one.old_mode : one.mode);
      all.push_back(letter + one.path + (is_directory ? "/" : ""));
    }
    return all;
  }
  Applied do_apply(Consent consent = Consent::refused, const std::vector<std::string>& paths = {}) const {
    Workspace all = workspace();
    auto found = compare(all, paths);
    if (!found) throw std::runtime_error{found.error().message};
    auto applied = apply(all, std::move(*found), consent);
    if (!applied) throw std::runtime_error{applied.error().message};
    return std::move(*applied);
  }
  /// {path: reason}
  static std::map<std::string, std::string> reasons(const std::vector<LeftOut>& left_out) {
    std::map<std::string, std::string> all;
    for (const LeftOut& one : left_out) all[one.path] = word(one.why);
    return all;
  }
  [[nodiscard]] static mode_t mode_of(const std::filesystem::path& path) {
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0 ? status.st_mode : 0;
  }

  using Lines = std::vector<std::string>;
  using Reasons = std::map<std::string, std::string>;

  test::TemporaryDirectory top;

 public:
  const std::filesystem::path under = top.path() / "directory";
  const std::filesystem::path layer = top.path() / "layer";
  const std::filesystem::path outside = top.path() / "outside";
  const std::filesystem::path state = top.path() / "state";
  std::int64_t since_ns = 0;
};

}  // namespace skiff::container::changes
