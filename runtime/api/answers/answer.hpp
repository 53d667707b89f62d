#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "protocol/json/text.hpp"
#include "runtime/api/answers/answer_values.hpp"
#include "runtime/api/answers/schema_parts.hpp"

/// The answer of a route: a row for each member, from which both the JSON and the schema in the documents are made.
///
///   const Answer<Session>& shell_answer() {
///     static const Answer<Session> answer{"SessionShell", {
///         {"path", [](const Session& session) { return session.shell(); }},
///         {"user", [](const Session& session) -> std::optional<std::string> { ... }, "Absent: the agent's own"}}};
///     return answer;
///   }
///
/// The return type of a row's function determines how the member is written and described: text, bool, integers,
/// `WallTime`, `Id`, `OrNull`, `Bytes`, vectors, maps of texts, and `Part`, an object with its own rows. An empty
/// std::optional and a null pointer are left out.
namespace skiff::runtime::api {

/// An object inside an answer. `answer` is the function that returns its rows.
template <auto answer>
struct Part {
  using Source = typename std::remove_cvref_t<std::invoke_result_t<decltype(answer)>>::Source;
  const Source& of;
};

/// A `Part` that owns its source.
template <auto answer>
struct MadePart {
  typename Part<answer>::Source of;
};

/// Makes a `Part` of each element.
template <auto answer>
[[nodiscard]] std::vector<Part<answer>> parts(const std::vector<typename Part<answer>::Source>& all) {
  std::vector<Part<answer>> list;
  for (const auto& one : all) list.push_back({one});
  return list;
}

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

/// The type of the value of a row's function, which returns it always or as an optional.
template <class T>
struct WhatIsGiven {
  using Value = T;
};
template <class T>
struct WhatIsGiven<std::optional<T>> {
  using Value = T;
};
template <class T>
  requires std::is_class_v<T>
struct WhatIsGiven<const T*> {
  using Value = T;
};

/// One member of an answer, without the type of its source, so that code for rows exists once and not for each S.
struct UntypedRow {
  std::string_view name;
  std::string_view help;
  std::string (*schema)();
  void (*append)(std::string& out, std::string_view key, const void* source);
  bool always;
};

/// One member of an answer with the source type S.
template <class S>
class AnswerRow {
 public:
  /// `Get` is a lambda without captures. `schema` replaces the schema of its return type.
  template <class Get>
  constexpr AnswerRow(std::string_view name, Get /*get*/, std::string_view help = {}, std::string (*schema)() = nullptr)
      : untyped_{name, help, schema != nullptr ? schema : &AnswerValue<ValueOf<Get>>::schema, &append_given<Get>,
                 std::is_same_v<GivenBy<Get>, ValueOf<Get>>} {}

  [[nodiscard]] const UntypedRow& untyped() const noexcept { return untyped_; }

 private:
  template <class Get>
  using GivenBy = std::remove_cvref_t<std::invoke_result_t<Get, const S&>>;
  template <class Get>
  using ValueOf = typename WhatIsGiven<GivenBy<Get>>::Value;

  template <class Get>
  static void append_given(std::string& out, std::string_view key, const void* source) {
    const auto& given = Get{}(*static_cast<const S*>(source));
    if constexpr (std::is_same_v<GivenBy<Get>, ValueOf<Get>>) {
      protocol::append_json_key(out, key);
      AnswerValue<ValueOf<Get>>::append(out, given);
    } else if (given) {
      protocol::append_json_key(out, key);
      AnswerValue<ValueOf<Get>>::append(out, *given);
    }
  }

  UntypedRow untyped_;
};

/// An answer without the type of its source.
class UntypedAnswer {
 public:
  [[nodiscard]] std::vector<Member> members() const;
  [[nodiscard]] protocol::SchemaRef schema() const;
  /// The schema for use inside another one.
  [[nodiscard]] std::string named_schema() const;

 protected:
  explicit UntypedAnswer(std::string_view name) : name_{name} {}
  ~UntypedAnswer() = default;
  UntypedAnswer(const UntypedAnswer&) = default;
  UntypedAnswer& operator=(const UntypedAnswer&) = default;

  void add(const UntypedRow& row);
  void append_rows(std::string& out, const void* source) const;
  void append_object(std::string& out, const void* source) const;
  [[nodiscard]] const std::vector<UntypedRow>& untyped_rows() const noexcept { return rows_; }

 private:
  std::string_view name_;
  std::vector<UntypedRow> rows_;
};

/// An answer with the source type S.
template <class S>
class Answer : public UntypedAnswer {
 public:
  using Source = S;

  /// `name` is the name of its schema; empty: none.
  Answer(std::string_view name, std::initializer_list<AnswerRow<S>> rows) : UntypedAnswer{name} {
    for (const AnswerRow<S>& row : rows) add(row.untyped());
  }

  void append(std::string& out, const S& source) const { append_object(out, &source); }
  /// Appends the members without braces.
  void append_members(std::string& out, const S& source) const { append_rows(out, &source); }
  [[nodiscard]] std::string text(const S& source) const {
    std::string out;
    append(out, source);
    return out;
  }

  /// The number of rows, and appending a single one, for a writer that suspends between two members.
  [[nodiscard]] std::size_t size() const noexcept { return untyped_rows().size(); }
  void append_member(std::string& out, std::size_t place, const S& source) const {
    const UntypedRow& row = untyped_rows()[place];
    row.append(out, row.name, &source);
  }
};

}  // namespace skiff::runtime::api
