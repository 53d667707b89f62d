#include "runtime/process/lacks.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::runtime {
namespace {

struct Need {
  std::string_view path;
  int flags;
  std::string_view without;
};
constexpr std::array kNeeds{
    Need{"dev/null", O_RDWR, "commands that use it fail, and so do stateful sessions"},
    Need{"dev/ptmx", O_PATH, "no command can have a terminal"},
    Need{"proc/self/fd", O_RDONLY | O_DIRECTORY,
         "files, ports and statistics do not work, and a kill may leave processes behind"},
};

}  // namespace

std::vector<std::string> lacks(const std::filesystem::path& root) {
  std::vector<std::string> found;
  for (const auto& [path, flags, without] : kNeeds) {
    const std::filesystem::path file = root / path;
    if (const UniqueFd opened{::open(file.c_str(), flags | O_CLOEXEC | O_NOCTTY)}) continue;
    found.push_back(file.string() + " can't be used (" + errno_text(errno) + "): " + std::string{without});
  }
  return found;
}

}  // namespace skiff::runtime
