#include "runtime/auth/scopes.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace skiff::runtime {
namespace {

constexpr std::array kScopes{Scope::read, Scope::exec, Scope::ports, Scope::admin};

std::optional<Scope> scope_called(std::string_view word) noexcept {
  const auto scope = std::ranges::find(kScopes, word, name);
  return scope == kScopes.end() ? std::nullopt : std::optional{*scope};
}

/// Removes the part up to the next `separator` from `text`, and returns it.
std::string_view next_word(std::string_view& text, char separator) noexcept {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

}  // namespace

std::string_view name(Scope scope) noexcept {
  switch (scope) {
    case Scope::read:
      return "read";
    case Scope::exec:
      return "exec";
    case Scope::ports:
      return "ports";
    case Scope::admin:
      return "admin";
  }
  return {};
}

Result<Scopes> Scopes::parse_list(std::string_view text) {
  constexpr std::string_view kExpected = "scopes are read, exec, ports and admin, separated by commas";
  Scopes scopes;
  if (text.empty() || text.back() == ',') return fail(Errc::invalid_field, std::string{kExpected});
  while (!text.empty()) {
    const auto scope = scope_called(next_word(text, ','));
    if (!scope) return fail(Errc::invalid_field, std::string{kExpected});
    scopes = scopes.with(*scope);
  }
  return scopes;
}

Scopes Scopes::parse_claim(std::string_view text) noexcept {
  Scopes scopes;
  while (!text.empty()) {
    if (const auto scope = scope_called(next_word(text, ' '))) scopes = scopes.with(*scope);
  }
  return scopes;
}

std::string Scopes::text() const {
  std::string words;
  for (const Scope scope : kScopes) {
    if (!allows(scope)) continue;
    if (!words.empty()) words += ' ';
    words += name(scope);
  }
  return words;
}

}  // namespace skiff::runtime
