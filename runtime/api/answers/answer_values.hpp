#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/clock.hpp"
#include "protocol/json/base64.hpp"
#include "protocol/json/schema.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"
#include "runtime/api/answers/schema_parts.hpp"

/// The types of members of answers, with their schemas and their JSON.
namespace skiff::runtime::api {

/// The id of a session, a command or an instance.
struct Id {
  std::string_view text;
};

/// A member that is always present, and null without a value.
template <class T>
struct OrNull {
  std::optional<T> value;
};

/// Bytes, written as base64. `begun` precedes them: the beginning of a character that came in two pieces.
struct Bytes {
  std::string_view bytes;
  std::string_view begun = {};
};

/// Valid UTF-8, whose first character may have come in two pieces.
struct PiecesOfText {
  std::string_view begun;
  std::string_view rest = {};
};

/// Exactly one of these has a value: `text_of` for UTF-8, `bytes_of` for other bytes.
[[nodiscard]] inline std::optional<PiecesOfText> text_of(std::string_view bytes) {
  return protocol::is_valid_utf8(bytes) ? std::optional{PiecesOfText{bytes}} : std::nullopt;
}
[[nodiscard]] inline std::optional<Bytes> bytes_of(std::string_view bytes) {
  return protocol::is_valid_utf8(bytes) ? std::nullopt : std::optional{Bytes{bytes}};
}

/// A member that is JSON already; the row sets its schema.
struct Written {
  std::string_view json;
};

/// The schema and the JSON of a member of type T.
template <class T>
struct AnswerValue;

template <std::convertible_to<std::string_view> T>
struct AnswerValue<T> {
  static std::string schema() { return kText; }
  static void append(std::string& out, std::string_view text) {
    if (protocol::is_valid_utf8(text)) {
      protocol::append_json_string(out, text);
    } else {
      protocol::append_json_string(out, protocol::to_valid_utf8(text));
    }
  }
};

template <>
struct AnswerValue<bool> {
  static std::string schema() { return kFlag; }
  static void append(std::string& out, bool value) { out += value ? "true" : "false"; }
};

template <std::integral T>
struct AnswerValue<T> {
  static std::string schema() { return std::is_unsigned_v<T> ? kCount : R"({"type":"integer"})"; }
  static void append(std::string& out, T value) {
    using Wide = std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, std::int64_t>;
    protocol::append_json_integer(out, static_cast<Wide>(value));
  }
};

template <>
struct AnswerValue<Id> {
  static std::string schema() { return kId; }
  static void append(std::string& out, Id id) { protocol::append_json_string(out, id.text); }
};

template <>
struct AnswerValue<WallTime> {
  static std::string schema() { return kTime; }
  static void append(std::string& out, WallTime time) { protocol::append_json_string(out, rfc3339(time)); }
};

template <>
struct AnswerValue<Bytes> {
  static std::string schema() { return kText; }
  static void append(std::string& out, const Bytes& value) {
    out += '"';
    if (value.begun.empty()) {
      protocol::append_base64(out, value.bytes);
    } else {
      protocol::append_base64(out, std::string{value.begun}.append(value.bytes));
    }
    out += '"';
  }
};

template <>
struct AnswerValue<PiecesOfText> {
  static std::string schema() { return kText; }
  static void append(std::string& out, const PiecesOfText& text) {
    out += '"';
    protocol::append_json_escaped(out, text.begun);
    protocol::append_json_escaped(out, text.rest);
    out += '"';
  }
};

template <>
struct AnswerValue<Written> {
  static std::string schema() { return "{}"; }
  static void append(std::string& out, Written value) { out += value.json; }
};

template <class T>
struct AnswerValue<OrNull<T>> {
  static std::string schema() { return or_null(AnswerValue<T>::schema()); }
  static void append(std::string& out, const OrNull<T>& value) {
    if (!value.value) {
      out += "null";
    } else {
      AnswerValue<T>::append(out, *value.value);
    }
  }
};

template <class T>
struct AnswerValue<std::vector<T>> {
  static std::string schema() { return list_of(AnswerValue<T>::schema()); }
  static void append(std::string& out, const std::vector<T>& values) {
    out += '[';
    for (const T& value : values) {
      if (out.back() != '[') out += ',';
      AnswerValue<T>::append(out, value);
    }
    out += ']';
  }
};

/// A map of texts, or of texts and nulls.
template <class T>
struct AnswerValue<std::map<std::string, T>> {
  static constexpr bool kHasNulls = !std::is_same_v<T, std::string>;
  static std::string schema() {
    return kHasNulls ? R"({"type":"object","additionalProperties":{"type":["string","null"]}})" : kLabels;
  }
  static void append(std::string& out, const std::map<std::string, T>& map) { protocol::append_json(out, map); }
};

/// A type that requests use, too.
template <class T>
  requires requires { protocol::Schema<T>::fields; }
struct AnswerValue<T> {
  static std::string schema() { return protocol::json_schema<T>(); }
  static void append(std::string& out, const T& value) { protocol::append_json(out, value); }
};

}  // namespace skiff::runtime::api
