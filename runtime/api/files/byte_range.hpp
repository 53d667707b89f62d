#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace skiff::runtime::api {

/// The part of a representation of known size that a Range field requests (RFC 9110, 14.1.2).
struct AskedRange {
  enum class Kind : unsigned char {
    whole,          ///< no range, another unit, malformed, or several ranges: the answer is the whole
    part,           ///< bytes from `from` up to but not including `to`
    unsatisfiable,  ///< begins after the end: 416
  };
  Kind kind = Kind::whole;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};

[[nodiscard]] AskedRange parse_range(std::optional<std::string_view> field, std::uint64_t size) noexcept;

}  // namespace skiff::runtime::api
