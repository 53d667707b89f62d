#include "sessions/spawn/environment.hpp"

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sessions/spawn/users.hpp"

namespace skiff::sessions {
namespace {

// The PATH that Debian's login shell sets for a user; root's includes the sbin directories.
constexpr std::string_view kUserPath = "/usr/local/bin:/usr/bin:/bin";
constexpr std::string_view kRootPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

}  // namespace

void EnvironmentBlock::add(std::string_view string) {
  bytes_.append(string.substr(0, string.find('\0'))).push_back('\0');
  ++count_;
}

void EnvironmentBlock::add(std::string_view name, std::string_view value) {
  bytes_.append(name).append(1, '=').append(value.substr(0, value.find('\0'))).push_back('\0');
  ++count_;
}

std::vector<const char*> EnvironmentBlock::pointers() const {
  std::vector<const char*> found;
  found.reserve(count_ + 1);
  const char* at = bytes_.data();
  for (std::size_t i = 0; i < count_; ++i, at += std::strlen(at) + 1) found.push_back(at);
  found.push_back(nullptr);
  return found;
}

Environment::Environment(const Variables& variables) {
  // Reserve room for a command's own variables.
  variables_.reserve(variables.size() + 16);
  for (const auto& [name, value] : variables) variables_.push_back({name, value});
}

std::vector<Environment::Variable>::const_iterator Environment::place(std::string_view name) const noexcept {
  return std::ranges::lower_bound(variables_, name, {}, &Variable::name);
}

void Environment::set(std::string_view name, std::string_view value) {
  const auto found = place(name);
  if (found != variables_.end() && found->name == name) {
    variables_[static_cast<std::size_t>(found - variables_.begin())].value = value;
  } else {
    variables_.insert(found, {name, value});
  }
}

void Environment::keep(std::string_view name, std::string value) {
  set(name, kept_.emplace_back(std::move(value)));
}

void Environment::erase(std::string_view name) {
  if (const auto found = place(name); found != variables_.end() && found->name == name) variables_.erase(found);
}

void Environment::erase_if(const std::function<bool(std::string_view name)>& is_unwanted) {
  std::erase_if(variables_, [&](const Variable& one) { return is_unwanted(one.name); });
}

std::string_view Environment::get(std::string_view name) const noexcept {
  const auto found = place(name);
  return found != variables_.end() && found->name == name ? found->value : std::string_view{};
}

bool Environment::contains(std::string_view name) const noexcept {
  const auto found = place(name);
  return found != variables_.end() && found->name == name;
}

void Environment::apply(const EnvironmentChange& change) {
  for (const auto& [name, value] : change) {
    if (value) {
      set(name, *value);
    } else {
      erase(name);
    }
  }
}

void Environment::apply(const SecretEnvironment& secrets) {
  for (const auto& [name, value] : secrets) set(name, value);
}

void Environment::complete(const Credentials& user, bool switched_user, std::string_view shell, bool terminal) {
  if (switched_user) {
    // These variables describe the user; the agent's values would be wrong for another user.
    set("HOME", user.home);
    set("USER", user.name);
    set("LOGNAME", user.name);
  }
  const auto provide = [this](std::string_view name, std::string_view value) {
    if (get(name).empty()) set(name, value);
  };
  provide("HOME", user.home);
  provide("USER", user.name);
  provide("LOGNAME", get("USER"));
  provide("SHELL", shell);
  provide("PATH", user.uid == 0 ? kRootPath : kUserPath);
  provide("LANG", "C.UTF-8");
  if (terminal) provide("TERM", "xterm-256color");
}

Variables Environment::variables() const {
  Variables copy;
  for (const auto& [name, value] : variables_) copy.emplace(name, value);
  return copy;
}

EnvironmentBlock Environment::block() const {
  std::size_t bytes = 0;
  for (const auto& [name, value] : variables_) bytes += name.size() + value.size() + 2;
  EnvironmentBlock block;
  block.reserve(bytes);
  for (const auto& [name, value] : variables_) block.add(name, value);
  return block;
}

Variables inheritable_environment(const std::vector<std::string>& deny) {
  Variables variables;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    std::string name{text.substr(0, equals)};
    if (name.starts_with("SKIFF_")) continue;
    const auto denied = [&](const std::string& pattern) { return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0; };
    if (std::ranges::any_of(deny, denied)) continue;
    variables.emplace(std::move(name), text.substr(equals + 1));
  }
  return variables;
}

bool is_valid_variable(std::string_view name) noexcept {
  return !name.empty() && name.find('=') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

}  // namespace skiff::sessions
