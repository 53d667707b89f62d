#include "runtime/process/install.hpp"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::runtime {
namespace {

Result<> copy_into(const std::string& directory) {
  const UniqueFd self{::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
  if (!self) return std::unexpected{system_error(errno, "open \"/proc/self/exe\"")};
  struct stat info{};
  if (::fstat(self.get(), &info) != 0) return std::unexpected{system_error(errno, "stat \"/proc/self/exe\"")};
  const std::string target = directory + "/skiffd";
  // Write under another name first: a container that starts meanwhile must not run half a program.
  const std::string draft = target + ".new";
  const UniqueFd file{::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0755)};
  if (!file) return std::unexpected{system_error(errno, "create \"" + draft + '"')};
  int error = 0;
  for (off_t done = 0; error == 0 && done < info.st_size;) {
    if (::sendfile(file.get(), self.get(), &done, static_cast<std::size_t>(info.st_size - done)) <= 0)
      error = errno != 0 ? errno : EIO;
  }
  if (error == 0 && ::fchmod(file.get(), 0755) != 0) error = errno;
  if (error == 0 && ::rename(draft.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(draft.c_str());
  return std::unexpected{system_error(error, "write \"" + target + '"')};
}

}  // namespace

int install(std::span<const char* const> arguments) {
  if (arguments.size() != 1) {
    std::fputs("skiffd: install takes one directory\n", stderr);
    return 2;
  }
  if (auto copied = copy_into(arguments.front()); !copied) {
    std::fprintf(stderr, "skiffd: %s\n", copied.error().message.c_str());
    return 1;
  }
  return 0;
}

}  // namespace skiff::runtime
