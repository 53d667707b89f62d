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
/// std::optional without a value is left out, and a null pointer.
namespace skiff::runtime::api {

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
template <class T>
  requires std::is_class_v<T>
struct WhatIsGiven<const T*> {
  using Value = T;
};

/// One member of an answer, whatever the answer is about: what is done with rows is there once, and not for each S.
struct UntypedRow {
  std::string_view name;
  std::string_view help;
  std::string (*schema)();
  void (*append)(std::string& out, std::string_view key, const void* source);
  bool always;
};

/// One member of an answer about an S.
template <class S>
class AnswerRow {
 public:
  /// `Get` is a lambda without captures. `schema`: in place of that of its type.
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

/// What is answered, whatever it is about.
class UntypedAnswer {
 public:
  [[nodiscard]] std::vector<Member> members() const;
  [[nodiscard]] protocol::SchemaRef schema() const;
  /// For a place inside of another one.
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

/// What is answered about an S.
template <class S>
class Answer : public UntypedAnswer {
 public:
  using Source = S;

  /// `name`: of its schema; empty: none.
  Answer(std::string_view name, std::initializer_list<AnswerRow<S>> rows) : UntypedAnswer{name} {
    for (const AnswerRow<S>& row : rows) add(row.untyped());
  }

  void append(std::string& out, const S& source) const { append_object(out, &source); }
  /// Without braces.
  void append_members(std::string& out, const S& source) const { append_rows(out, &source); }
  [[nodiscard]] std::string text(const S& source) const {
    std::string out;
    append(out, source);
    return out;
  }

  /// For a writer that lets others go on between two members: how many there are, and one of them, if it is there.
  [[nodiscard]] std::size_t size() const noexcept { return untyped_rows().size(); }
  void append_member(std::string& out, std::size_t place, const S& source) const {
    const UntypedRow& row = untyped_rows()[place];
    row.append(out, row.name, &source);
  }
};

}  // namespace skiff::runtime::api
