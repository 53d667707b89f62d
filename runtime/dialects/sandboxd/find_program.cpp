#include "runtime/dialects/sandboxd/find_program.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace skiff::runtime::dialects::sandboxd {
namespace {

bool is_program(const std::string& path) {
  struct stat seen{};
  return ::stat(path.c_str(), &seen) == 0 && S_ISREG(seen.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

/// The path of a program in one of the directories; empty: none has it.
std::string find_below(std::string_view directories, const std::string& name) {
  while (!directories.empty()) {
    const std::size_t colon = std::min(directories.find(':'), directories.size());
    const std::string_view directory = directories.substr(0, colon);
    directories.remove_prefix(std::min(colon + 1, directories.size()));
    if (!directory.starts_with('/')) continue;
    std::string program = std::string{directory} + '/' + name;
    if (is_program(program)) return program;
  }
  return {};
}

}  // namespace

std::string find_program(const std::string& name, std::string_view command_path, std::string_view own_path) {
  if (name.empty() || name.contains('/') || !find_below(command_path, name).empty()) return name;
  std::string own = find_below(own_path, name);
  return own.empty() ? name : own;
}

}  // namespace skiff::runtime::dialects::sandboxd
