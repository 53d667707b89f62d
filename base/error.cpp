#include "base/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace skiff {
namespace {

constexpr std::array kNames{
#define SKIFF_X(name, advice) std::string_view{#name},
    SKIFF_ERROR_CODES(SKIFF_X)
#undef SKIFF_X
};

Errc code_of(int error) noexcept {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return Errc::path_not_found;
    case EACCES:
    case EPERM:
    case EROFS:
      return Errc::permission_denied;
    case EBUSY:
      return Errc::in_use;
    case EEXIST:
    case EADDRINUSE:
      return Errc::already_exists;
    case EISDIR:
      return Errc::is_a_directory;
    case ENOTEMPTY:
      return Errc::directory_not_empty;
    case ENAMETOOLONG:
      return Errc::name_too_long;
    case ELOOP:
    case EMLINK:
      return Errc::too_many_links;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Errc::no_space;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
      return Errc::resource_exhausted;
    case ETIMEDOUT:
      return Errc::timeout;
    case ECANCELED:
      return Errc::cancelled;
    default:
      return Errc::io_error;
  }
}

}  // namespace

std::string_view name(Errc code) noexcept {
  return kNames[static_cast<std::size_t>(code)];
}

std::optional<Errc> find_code(std::string_view word) noexcept {
  const auto* const found = std::ranges::find(kNames, word);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Errc>(found - kNames.begin());
}

std::size_t error_code_count() noexcept {
  return kNames.size();
}

Error system_error(int error, std::string_view attempted) {
  return Error{code_of(error), std::string{attempted} + ": " + errno_text(error)};
}

std::string errno_text(int error) {
  const char* text = ::strerrordesc_np(error);
  return text != nullptr ? std::string{text} : "error " + std::to_string(error);
}

std::string errno_name(int error) {
  const char* text = ::strerrorname_np(error);
  return text != nullptr ? std::string{text} : std::to_string(error);
}

}  // namespace skiff
