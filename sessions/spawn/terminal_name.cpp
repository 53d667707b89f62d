#include "sessions/spawn/terminal_name.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

namespace skiff::sessions {
namespace {

/// Terminals that programs know without a database, or names for a terminal without abilities.
constexpr std::array<std::string_view, 9> kPlainTerminals{"dumb",  "unknown", "emacs", "ansi",          "linux",
                                                          "vt100", "vt220",   "xterm", "xterm-256color"};
constexpr std::array<std::string_view, 5> kTerminfo{"/etc/terminfo", "/lib/terminfo", "/usr/lib/terminfo",
                                                    "/usr/share/terminfo", "/usr/local/share/terminfo"};
constexpr std::string_view kTermName = "TERM=";

std::string_view value_in(std::string_view name, const std::vector<const char*>& environment) {
  for (const char* entry : environment) {
    if (entry == nullptr) break;
    const std::string_view text{entry};
    if (text.starts_with(name) && text.substr(name.size()).starts_with('=')) return text.substr(name.size() + 1);
  }
  return {};
}

/// Whether the directory describes the terminal, below its first letter or, where file names ignore case, that letter's
/// hex code.
bool is_described(std::string_view name, const std::string& directory) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto first = static_cast<unsigned char>(name.front());
  const std::string number{kHex[first >> 4U], kHex[first & 15U]};
  return std::ranges::any_of(std::array{std::string{name.front()}, number}, [&](const std::string& below) {
    return ::access((directory + '/' + below + '/' + std::string{name}).c_str(), R_OK) == 0;
  });
}

}  // namespace

bool is_terminal_known(std::string_view name, const std::vector<const char*>& environment) {
  if (name.empty() || std::ranges::find(kPlainTerminals, name) != kPlainTerminals.end()) return true;
  if (name.contains('/')) return false;
  std::vector<std::string> directories{kTerminfo.begin(), kTerminfo.end()};
  if (const auto own = value_in("TERMINFO", environment); !own.empty()) directories.emplace_back(own);
  if (const auto home = value_in("HOME", environment); !home.empty()) {
    directories.push_back(std::string{home} + "/.terminfo");
  }
  std::string_view more = value_in("TERMINFO_DIRS", environment);
  while (!more.empty()) {
    const std::size_t colon = std::min(more.find(':'), more.size());
    if (colon > 0) directories.emplace_back(more.substr(0, colon));
    more.remove_prefix(std::min(colon + 1, more.size()));
  }
  return std::ranges::any_of(directories, [&](const std::string& one) { return is_described(name, one); });
}

void name_terminal(std::vector<const char*>& environment) {
  for (const char*& entry : environment) {
    if (entry == nullptr || !std::string_view{entry}.starts_with(kTermName)) continue;
    if (!is_terminal_known(std::string_view{entry}.substr(kTermName.size()), environment)) entry = kUsualTerminal;
    return;
  }
}

}  // namespace skiff::sessions
