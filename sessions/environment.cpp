#include "sessions/environment.hpp"

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>

#include "sessions/users.hpp"

namespace skiff::sessions {
namespace {

// What a login shell of Debian sets for a user; root's holds the sbin folders too.
constexpr std::string_view kUserPath = "/usr/local/bin:/usr/bin:/bin";
constexpr std::string_view kRootPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

}  // namespace

Environment inheritable_environment(const std::vector<std::string>& deny) {
  Environment environment;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    std::string name{text.substr(0, equals)};
    if (name.starts_with("SKIFF_")) continue;
    const auto denied = [&](const std::string& pattern) { return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0; };
    if (std::ranges::any_of(deny, denied)) continue;
    environment.emplace(std::move(name), text.substr(equals + 1));
  }
  return environment;
}

void apply(Environment& environment, const EnvironmentChange& change) {
  for (const auto& [name, value] : change) {
    if (value) {
      environment[name] = *value;
    } else {
      environment.erase(name);
    }
  }
}

void apply(Environment& environment, const SecretEnvironment& secrets) {
  for (const auto& [name, value] : secrets) environment[name] = value;
}

void complete(Environment& environment, const Credentials& user, bool switched_user, std::string_view shell,
              bool terminal) {
  if (switched_user) {
    // These describe the user: the agent's own would be wrong for another one.
    environment["HOME"] = user.home;
    environment["USER"] = user.name;
    environment["LOGNAME"] = user.name;
  }
  const auto provide = [&](const char* name, std::string_view value) {
    if (std::string& current = environment[name]; current.empty()) current = value;
  };
  provide("HOME", user.home);
  provide("USER", user.name);
  provide("LOGNAME", environment["USER"]);
  provide("SHELL", shell);
  provide("PATH", user.uid == 0 ? kRootPath : kUserPath);
  provide("LANG", "C.UTF-8");
  if (terminal) provide("TERM", "xterm-256color");
}

std::vector<std::string> as_strings(const Environment& environment) {
  std::vector<std::string> list;
  list.reserve(environment.size());
  for (const auto& [name, value] : environment) {
    std::string entry;
    entry.reserve(name.size() + value.size() + 1);
    entry.append(name).append("=").append(value);
    list.push_back(std::move(entry));
  }
  return list;
}

bool is_valid_variable(std::string_view name) noexcept {
  return !name.empty() && name.find('=') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

}  // namespace skiff::sessions
