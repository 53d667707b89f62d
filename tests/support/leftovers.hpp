#pragma once

#include <dirent.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include <gtest/gtest.h>

namespace skiff::test {

/// Fails the test case that leaves something behind: an open descriptor, a living child process, a file in $TMPDIR.
/// tests/support/leak_check.py finds what remains once the whole program has ended (orphans, daemons).
class Leftovers : public testing::EmptyTestEventListener {
  // Descriptors of /dev/null are not counted: the first launch of a process fills the gaps below its children's with
  // them.
  static constexpr std::string_view kNothing = "/dev/null";
  // A process that was killed is a child for some time yet.
  static constexpr std::chrono::seconds kGrace{2};

  void OnTestStart(const testing::TestInfo& /*test*/) override {
    descriptors_ = descriptors();
    children_ = living_children();
    files_ = files();
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    // A failed test did not reach its clean-up: the report shows its failure alone.
    if (test.result()->Failed()) return;
    for (const auto& [number, target] : descriptors()) {
      if (!descriptors_.contains(number)) ADD_FAILURE() << "left open: descriptor " << number << ", " << target;
    }
    const auto until = std::chrono::steady_clock::now() + kGrace;
    while (new_children() != "" && std::chrono::steady_clock::now() < until) ::poll(nullptr, 0, 1);
    if (const auto left = new_children(); left != "") ADD_FAILURE() << "left behind: child processes" << left;
    for (const auto& file : files()) {
      if (!files_.contains(file)) ADD_FAILURE() << "left behind: the file " << file;
    }
  }

  /// Number -> what it is, as /proc tells.
  static std::map<int, std::string> descriptors() {
    std::map<int, std::string> open;
    DIR* directory = ::opendir("/proc/self/fd");
    if (directory == nullptr) return open;
    while (const dirent* entry = ::readdir(directory)) {
      const int number = std::atoi(entry->d_name);  // NOLINT(bugprone-unchecked-string-to-number-conversion): "." is 0
      if (entry->d_name[0] == '.' || number == ::dirfd(directory)) continue;
      std::error_code ignored;
      const auto target =
          std::filesystem::read_symlink("/proc/self/fd/" + std::string{entry->d_name}, ignored).string();
      if (target != kNothing) open[number] = target;
    }
    ::closedir(directory);
    return open;
  }

  /// The children of all threads: a child belongs to the one that created it. Without ended ones: orphans that came to
  /// this process because a test adopts them are reaped with it.
  static std::set<std::string> living_children() {
    std::set<std::string> pids;
    std::error_code ignored;
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task", ignored}) {
      std::ifstream list{task.path() / "children"};
      for (std::string pid; list >> pid;) {
        std::ifstream stat{"/proc/" + pid + "/stat"};
        std::string text;
        std::getline(stat, text);
        const auto name_end = text.rfind(") ");
        if (name_end != std::string::npos && text[name_end + 2] != 'Z') pids.insert(pid);
      }
    }
    return pids;
  }
  [[nodiscard]] std::string new_children() const {
    std::string left;
    for (const auto& child : living_children()) {
      if (!children_.contains(child)) left += ' ' + child;
    }
    return left;
  }

  static std::set<std::string> files() {
    std::set<std::string> names;
    const char* directory = std::getenv("TMPDIR");
    std::error_code ignored;
    if (directory == nullptr) return names;
    for (const auto& entry : std::filesystem::directory_iterator{directory, ignored})
      names.insert(entry.path().string());
    return names;
  }

  std::map<int, std::string> descriptors_;
  std::set<std::string> children_, files_;
};

}  // namespace skiff::test
