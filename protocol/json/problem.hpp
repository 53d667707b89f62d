#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.hpp"

/// Errors as they go on the wire: problem documents (RFC 9457).
namespace skiff::protocol {

inline constexpr std::string_view kProblemType = "application/problem+json";

/// The HTTP status of a code. The one table there is.
[[nodiscard]] unsigned http_status(Errc code) noexcept;

/// One sentence that is the same for every occurrence of a code.
[[nodiscard]] std::string_view problem_title(Errc code) noexcept;

/// A member beside the standard ones, for example {"size", 42}. Text that isn't UTF-8 is repaired.
struct ProblemMember {
  std::string_view name;
  std::variant<std::int64_t, bool, std::string_view> value;
};

/// `{"type","title","status","detail","instance","code","field"?,...}`. `instance` is the request's id and may be empty
/// (then it is left out). The message may hold any bytes; what is not UTF-8 becomes U+FFFD.
[[nodiscard]] std::string problem_json(const Error& error, std::string_view instance,
                                       std::span<const ProblemMember> extra = {});

}  // namespace skiff::protocol
