#pragma once

#include <string>
#include <string_view>

namespace skiff::runtime::dialects::sandboxd {

/// The program to run for the first word of a command that sets a PATH of its own. The original searches its own PATH,
/// whatever the command's is; here the command's PATH comes first. Returns `name` if that PATH has it, if it is a path,
/// or if neither PATH has it; else its path in `own_path`. Only absolute directories are searched. Blocks.
[[nodiscard]] std::string find_program(const std::string& name, std::string_view command_path,
                                       std::string_view own_path);

}  // namespace skiff::runtime::dialects::sandboxd
