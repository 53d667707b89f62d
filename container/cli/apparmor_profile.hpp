#pragma once

#include <filesystem>
#include <string>

#include "base/error.hpp"

namespace skiff::container {

/// An AppArmor profile (version 4) that lets this program have user namespaces where others may not.
/// `permission_denied` if somebody other than root can put another program in its place: the profile would hold for
/// that one, too.
[[nodiscard]] Result<std::string> apparmor_profile(const std::filesystem::path& program);

}  // namespace skiff::container
