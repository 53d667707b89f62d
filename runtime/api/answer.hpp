#pragma once

#include <concepts>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "protocol/json/base64.hpp"
#include "protocol/json/schema.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"
#include "runtime/api/schema_parts.hpp"

/// What a route answers, said once: a row a member, out of which come the JSON and what the documents say of it.
///
///   const Answer<Session>& shell_answer() {
///     static const Answer<Session> answer{"SessionShell", {
///         {"path", [](const Session& session) { return session.shell(); }},
///         {"user", [](const Session& session) -> std::optional<std::string> { ... }, "Absent: the agent's own"}}};
///     return answer;
///   }
///
/// The type that a row's function returns says how the member is written and described: text, bool, integers,
/// `WallTime`, `Id`, `OrNull`, `Bytes`, vectors, maps of texts, and `Part`, an object with rows of its own. A
/// std::optional without a value is left out.
namespace skiff::runtime::api {

/// Of a session, a command, an instance.
struct Id {
  std::string_view text;
};

/// Always there, and null without a value.
template <class T>
struct OrNull {
  std::optional<T> value;
};

/// Bytes, as base64. `begun` comes before them: a character that came in two pieces.
struct Bytes {
  std::string_view bytes;
  std::string_view begun = {};
};

/// JSON that is there already; the row says what it is like.
struct Written {
  std::string_view json;
};

/// An object inside of an answer. `answer` is the function that gives its rows.
template <auto answer>
struct Part {
  using Source = typename std::remove_cvref_t<std::invoke_result_t<decltype(answer)>>::Source;
  const Source& of;
};

/// The same of something that is made for it.
template <auto answer>
struct MadePart {
  typename Part<answer>::Source of;
};

/// Each of them as a `Part`.
template <auto answer>
[[nodiscard]] std::vector<Part<answer>> parts(const std::vector<typename Part<answer>::Source>& all) {
  std::vector<Part<answer>> list;
  for (const auto& one : all) list.push_back({one});
  return list;
}

/// How a member of type T is described, and written.
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

/// Of texts, or of texts and nulls.
template <class T>
struct AnswerValue<std::map<std::string, T>> {
  static constexpr bool kHasNulls = !std::is_same_v<T, std::string>;
  static std::string schema() {
    return kHasNulls ? R"({"type":"object","additionalProperties":{"type":["string","null"]}})" : kLabels;
  }
  static void append(std::string& out, const std::map<std::string, T>& map) { protocol::append_json(out, map); }
};

/// What requests have, too.
template <class T>
  requires requires { protocol::Schema<T>::fields; }
struct AnswerValue<T> {
  static std::string schema() { return protocol::json_schema<T>(); }
  static void append(std::string& out, const T& value) { protocol::append_json(out, value); }
};

template <auto answer>
struct AnswerValue<Part<answer>> {
  static std::string schema() { return answer().named_schema(); }
  static void append(std::string& out, const Part<answer>& part) { answer().append(out, part.of); }
};

template <auto answer>
struct AnswerValue<MadePart<answer>> {
  static std::string schema() { return answer().named_schema(); }
  static void append(std::string& out, const MadePart<answer>& part) { answer().append(out, part.of); }
};

/// A row's function gives the value, or perhaps gives it.
template <class T>
struct WhatIsGiven {
  using Value = T;
};
template <class T>
struct WhatIsGiven<std::optional<T>> {
  using Value = T;
};

/// One member of an answer about an S.
template <class S>
struct AnswerRow {
  /// `Get` is a lambda without captures. `schema`: in place of that of its type.
  template <class Get>
  AnswerRow(std::string_view name, Get /*get*/, std::string_view help = {}, std::string_view schema = {})
      : AnswerRow{name,
                  help,
                  schema,
                  &append_given<Get>,
                  &AnswerValue<ValueOf<Get>>::schema,
                  std::is_same_v<GivenBy<Get>, ValueOf<Get>>} {}

  Member described;
  void (*append)(std::string& out, std::string_view key, const S& source);

 private:
  template <class Get>
  using GivenBy = std::remove_cvref_t<std::invoke_result_t<Get, const S&>>;
  template <class Get>
  using ValueOf = typename WhatIsGiven<GivenBy<Get>>::Value;

  /// Said once: there are hundreds of rows.
  [[gnu::noinline]] AnswerRow(std::string_view name, std::string_view help, std::string_view schema,
                              decltype(append) appended, std::string (*of_its_type)(), bool always)
      : described{name, schema.empty() ? of_its_type() : std::string{schema}, always, help}, append{appended} {}

  template <class Get>
  static void append_given(std::string& out, std::string_view key, const S& source) {
    const auto& given = Get{}(source);
    if constexpr (std::is_same_v<GivenBy<Get>, ValueOf<Get>>) {
      protocol::append_json_key(out, key);
      AnswerValue<ValueOf<Get>>::append(out, given);
    } else if (given) {
      protocol::append_json_key(out, key);
      AnswerValue<ValueOf<Get>>::append(out, *given);
    }
  }
};

/// What is answered about an S.
template <class S>
class Answer {
 public:
  using Source = S;

  /// `name`: of its schema; empty: none.
  Answer(std::string_view name, std::initializer_list<AnswerRow<S>> rows) : name_{name}, rows_{rows} {}

  void append(std::string& out, const S& source) const {
    out += '{';
    append_members(out, source);
    out += '}';
  }
  /// Without braces.
  void append_members(std::string& out, const S& source) const {
    for (const AnswerRow<S>& row : rows_) row.append(out, row.described.name, source);
  }
  [[nodiscard]] std::string text(const S& source) const {
    std::string out;
    append(out, source);
    return out;
  }

  /// For a writer that lets others go on between two members.
  [[nodiscard]] const std::vector<AnswerRow<S>>& rows() const noexcept { return rows_; }

  [[nodiscard]] std::vector<Member> members() const {
    std::vector<Member> all;
    for (const AnswerRow<S>& row : rows_) all.push_back(row.described);
    return all;
  }
  [[nodiscard]] protocol::SchemaRef schema() const { return {.name = std::string{name_}, .json = object(members())}; }
  /// For a place inside of another one.
  [[nodiscard]] std::string named_schema() const {
    const protocol::SchemaRef whole = schema();
    return name_.empty() ? whole.json : named(name_, whole.json);
  }

 private:
  std::string_view name_;
  std::vector<AnswerRow<S>> rows_;
};

}  // namespace skiff::runtime::api
