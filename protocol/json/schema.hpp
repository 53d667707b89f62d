#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "protocol/json/schema_codec.hpp"
#include "protocol/json/schema_field.hpp"

/// Decodes and encodes structs with a field list as JSON (protocol/json/schema_field.hpp).
namespace skiff::protocol {

struct JsonLimits {
  std::size_t max_bytes = 1024 * 1024;
  std::size_t max_depth = 64;
  bool takes_repeated_keys = false;  ///< the last value counts, as in Python and JavaScript
};

/// Parses all of `text` as one JSON value. Errors: `payload_too_large`; `malformed_json` with the byte position (also
/// for a repeated key that is not allowed, nesting above the limit, and a number outside of a double). Does not throw.
[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text, JsonLimits limits = {});

/// Decodes a request body. Errors: those of `parse_json`; `unknown_field`, `missing_field`, `invalid_field` with the
/// place as a JSON pointer in `field` and in front of the message ("/env/A: expected a string"). Messages never quote
/// values, as they may be secret. With `ignored`, unknown fields are collected there and not refused.
template <class T>
[[nodiscard]] Result<T> decode(std::string_view text, JsonLimits limits = {},
                               std::vector<std::string>* ignored = nullptr) {
  T out{};
  if (Result<> done = decode_text(text, limits, &out, kTypeInfo<T>, ignored != nullptr, ignored); !done) {
    return std::unexpected{std::move(done.error())};
  }
  return out;
}

/// Decodes a value that was parsed before.
template <class T>
  requires(!std::is_same_v<T, nlohmann::json>)
[[nodiscard]] Result<T> decode_json(const nlohmann::json& value, std::vector<std::string>* ignored = nullptr) {
  T out{};
  if (Result<> done = decode_value(value, &out, kTypeInfo<T>, ignored != nullptr, ignored); !done) {
    return std::unexpected{std::move(done.error())};
  }
  return out;
}

/// Appends the value as JSON on one line. Optionals without a value and write-only fields are left out; invalid UTF-8
/// in texts is repaired.
template <class T>
void append_json(std::string& out, const T& value) {
  Codec<T>::encode(value, out);
}

template <class T>
[[nodiscard]] std::string to_json(const T& value) {
  std::string out;
  Codec<T>::encode(value, out);
  return out;
}

/// Returns the JSON Schema of T, as an object in JSON text.
template <class T>
[[nodiscard]] std::string json_schema() {
  std::string out{'{'};
  Codec<T>::describe(Rule{}, out);
  out += '}';
  return out;
}

}  // namespace skiff::protocol
