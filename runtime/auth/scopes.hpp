#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace skiff::runtime {

/// The scope that a route requires. `exec` implies `read` (and allows writing files). `ports` is for the servers on
/// ports of the sandbox. `admin` implies all.
enum class Scope : std::uint8_t { read = 1, exec = 2, ports = 4, admin = 8 };

[[nodiscard]] std::string_view name(Scope scope) noexcept;

/// The scopes of a credential: a set that includes the scopes that its members imply.
class Scopes {
 public:
  constexpr Scopes() = default;
  static constexpr Scopes all() noexcept { return Scopes{}.with(Scope::admin); }

  [[nodiscard]] constexpr Scopes with(Scope scope) const noexcept {
    Scopes more = *this;
    more.bits_ |= implied(scope);
    return more;
  }
  [[nodiscard]] constexpr bool allows(Scope scope) const noexcept {
    return (bits_ & static_cast<std::uint8_t>(scope)) != 0;
  }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  friend constexpr bool operator==(Scopes, Scopes) = default;

  /// Parses "read,exec". The list must not be empty, and every word must be a scope. Errors: invalid_field.
  [[nodiscard]] static Result<Scopes> parse_list(std::string_view text);
  /// Parses the `scope` claim (RFC 8693 section 4.2): words separated by spaces. Unknown words are skipped, because an
  /// issuer may use them for other services.
  [[nodiscard]] static Scopes parse_claim(std::string_view text) noexcept;
  /// The names of the scopes, separated by spaces: "read exec ports admin".
  [[nodiscard]] std::string text() const;

 private:
  /// The bits of `scope` and of the scopes that it implies.
  static constexpr std::uint8_t implied(Scope scope) noexcept {
    const auto bit = [](Scope one) { return static_cast<unsigned>(one); };
    unsigned bits = bit(scope);
    if (scope == Scope::exec) bits |= bit(Scope::read);
    if (scope == Scope::admin) bits |= bit(Scope::read) | bit(Scope::exec) | bit(Scope::ports);
    return static_cast<std::uint8_t>(bits);
  }

  std::uint8_t bits_ = 0;
};

}  // namespace skiff::runtime
