#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace skiff::runtime::api {

/// What a Range field asks of a representation of a known size (RFC 9110, 14.1.2).
struct AskedRange {
  enum class Kind : unsigned char {
    whole,          ///< no range, one that is not of bytes, malformed, or several: all of it is a right answer
    part,           ///< from `from` to before `to`
    unsatisfiable,  ///< it begins behind the end: 416
  };
  Kind kind = Kind::whole;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};

[[nodiscard]] AskedRange parse_range(std::optional<std::string_view> field, std::uint64_t size) noexcept;

}  // namespace skiff::runtime::api
