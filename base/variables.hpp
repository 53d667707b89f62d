#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skiff {

/// The two programs that have variables whose names begin with `SKIFF_`.
enum class Program : unsigned char { agent, launcher };

/// All variables of a program, which are those of its settings table and what it reads besides. Each program knows the
/// other's: a shell may have both.
[[nodiscard]] std::span<const std::string_view> variables_of(Program program) noexcept;

/// A variable that begins as ours do and that neither program has.
struct UnknownVariable {
  std::string name;
  std::string nearest;  ///< the variable of this program that was probably meant; empty: none is near

  /// "SKIFF_LISTNE is not a variable of skiffd: did you mean SKIFF_LISTEN?"
  [[nodiscard]] std::string text(std::string_view program) const;
};

/// The unknown ones among the variables of `environment` (environ(7)). Variables that Kubernetes sets for a service
/// called skiff, such as SKIFF_SERVICE_HOST and SKIFF_PORT, are left out.
[[nodiscard]] std::vector<UnknownVariable> unknown_variables(const char* const* environment, Program own);

}  // namespace skiff
