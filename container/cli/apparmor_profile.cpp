#include "container/cli/apparmor_profile.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace skiff::container {
namespace {

namespace files = std::filesystem;

/// Characters that mean themselves in a path of a profile.
constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-";

/// Whether nobody but root may write to the file or directory itself.
Result<bool> is_of_root(const files::path& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return std::unexpected{system_error(errno, "look at " + path.string())};
  constexpr mode_t kOthers = S_IWGRP | S_IWOTH;
  return found.st_uid == 0 && (found.st_mode & kOthers) == 0;
}

}  // namespace

Result<std::string> apparmor_profile(const files::path& program) {
  for (files::path part = program;; part = part.parent_path()) {
    SKIFF_TRY(const bool is_safe, is_of_root(part));
    if (!is_safe) {
      return fail(Errc::permission_denied,
                  part.string() +
                      " can be written to by others than root, who could put any program there: "
                      "`sudo install " +
                      program.string() + " " + (program.parent_path() / "skiffd").string() +
                      " /usr/local/bin`, then `/usr/local/bin/skiff doctor --apparmor`");
    }
    if (part == part.root_path()) break;
  }
  const std::string path = program.string();
  if (path.find_first_not_of(kPlain) != std::string::npos) {
    return fail(Errc::invalid_field, "\"" + path +
                                         "\" has characters with a meaning in profiles: install skiff as "
                                         "/usr/local/bin/skiff");
  }
  // Programs that skiff starts keep this profile, and with it the right.
  return "abi <abi/4.0>,\n"
         "include <tunables/global>\n"
         "\n"
         "profile skiff " +
         path +
         " flags=(unconfined) {\n"
         "  userns,\n"
         "}\n";
}

}  // namespace skiff::container
