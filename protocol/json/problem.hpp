#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.hpp"

/// Errors on the wire: problem documents (RFC 9457).
namespace skiff::protocol {

inline constexpr std::string_view kProblemType = "application/problem+json";

/// Returns the HTTP status of a code. This is the only table.
[[nodiscard]] unsigned http_status(Errc code) noexcept;

/// Returns a sentence that is the same for every error with this code.
[[nodiscard]] std::string_view problem_title(Errc code) noexcept;

/// An additional member, for example {"size", 42}. Invalid UTF-8 in a text is repaired.
struct ProblemMember {
  std::string_view name;
  std::variant<std::int64_t, bool, std::string_view> value;
};

/// Formats `{"type","title","status","detail","instance","code","field"?,...}`. `instance` is the request's id; an
/// empty one is left out. Invalid UTF-8 in the message becomes U+FFFD.
[[nodiscard]] std::string problem_json(const Error& error, std::string_view instance,
                                       std::span<const ProblemMember> extra = {});

}  // namespace skiff::protocol
