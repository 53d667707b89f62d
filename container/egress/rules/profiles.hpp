#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

/// Lists of rules that users name by one word: `@pypi`.
namespace skiff::container::egress {

struct Profile {
  std::string_view name;
  std::span<const std::string_view> rules;  ///< what its tool needs for its main job, and no more
};

[[nodiscard]] std::span<const Profile> profiles();

/// The rules as they are, with those of a profile in the place of its @NAME. `invalid_field` for an unknown profile.
[[nodiscard]] Result<std::vector<std::string>> with_profiles(std::span<const std::string> rules);

}  // namespace skiff::container::egress
