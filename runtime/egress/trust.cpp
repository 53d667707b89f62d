#include "runtime/egress/trust.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string_view>

#include "base/unique_fd.hpp"
#include "protocol/net/trust/program_trust.hpp"

namespace skiff::runtime::egress {
namespace {

Result<> write_whole(const std::string& path, std::string_view text) {
  // A file of an earlier start of the container is replaced, and a link in its place not followed.
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return std::unexpected{system_error(errno, "replace \"" + path + '"')};
  }
  const UniqueFd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)};
  // Commands of other users read it, too, whatever the umask is.
  if (!file || ::fchmod(file.get(), 0644) != 0) return std::unexpected{system_error(errno, "create \"" + path + '"')};
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return std::unexpected{system_error(errno, "write \"" + path + '"')};
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Result<> write_trust(const std::string& directory, const std::string& ca_pem) {
  SKIFF_TRY(const auto files, protocol::trust_files(ca_pem));
  for (const auto& [name, content] : files) {
    SKIFF_TRY_VOID(write_whole(std::string{directory}.append("/").append(name), content));
  }
  for (const auto& file : protocol::trust_settings(directory)) SKIFF_TRY_VOID(write_whole(file.path, file.text));
  return {};
}

}  // namespace skiff::runtime::egress
