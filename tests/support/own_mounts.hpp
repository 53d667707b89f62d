#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fstream>
#include <string>

/// For a child of its own (in_child.hpp): mounts that nobody else sees and that end with it.
namespace skiff::test {

/// False where that is not allowed. Who is not root becomes root of a user namespace.
inline bool own_mounts() {
  const std::string user = std::to_string(::geteuid());
  const std::string group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    std::ofstream{"/proc/self/setgroups"} << "deny";
    std::ofstream{"/proc/self/gid_map"} << "0 " << group << " 1";
    std::ofstream{"/proc/self/uid_map"} << "0 " << user << " 1";
  }
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

/// An empty file system of memory at a directory.
inline bool mount_tmpfs(const std::string& directory, const char* options = "") {
  return own_mounts() && ::mount("tmpfs", directory.c_str(), "tmpfs", 0, options) == 0;
}

}  // namespace skiff::test
