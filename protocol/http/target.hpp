#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace skiff::protocol {

/// Decodes %XX once. `%00` and malformed escapes are `invalid_request`. With `is_space`, `+` becomes a space.
enum class Plus : unsigned char { literal, is_space };
[[nodiscard]] Result<std::string> percent_decode(std::string_view text, Plus plus = Plus::literal);

/// Encodes everything but RFC 3986's unreserved characters.
[[nodiscard]] std::string percent_encode(std::string_view text);

/// The target of a request (RFC 9112, 3.2), split and decoded once. `.` and `..` are unchanged.
struct Target {
  struct Parameter {
    std::string name;
    std::string value;
  };

  std::string path;                   ///< as sent, still encoded, without the query; "*" for asterisk-form
  std::vector<std::string> segments;  ///< decoded: "/a%2Fb/" is {"a/b", ""}, "/" is {""}
  std::vector<Parameter> query;       ///< decoded, in order; `+` is a space here (as browsers and curl -G send it)
  std::string authority;              ///< authority of an absolute-form target, else empty
  /// The first part that could not be decoded: a `%` without two hexadecimal digits, or `%00`. Such a part is unchanged
  /// here. Code that only passes a target on may ignore it; for all other code it is an error (`invalid_request`).
  std::optional<Error> fault = {};

  /// Parses origin-form, absolute-form (http and https) or "*". authority-form (CONNECT) is `invalid_request`.
  [[nodiscard]] static Result<Target> parse(std::string_view text);

  /// Returns the first value of a parameter.
  [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const noexcept;
};

}  // namespace skiff::protocol
