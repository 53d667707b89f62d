#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

/// Field lists. A struct says once what its JSON looks like; decoding with exact errors, encoding and the JSON Schema
/// (2020-12, as in OpenAPI 3.1) come from that:
///
///   struct Resize {
///     int cols = 0;
///     std::optional<int> rows;
///     static constexpr auto fields = std::tuple{
///         field("cols", &Resize::cols, "Columns", {.minimum = 1, .maximum = 1000}),
///         field("rows", &Resize::rows, "Rows")};
///   };
///
/// For a struct of another layer, specialise `Schema<T>` with the same member. Member types: bool, integers,
/// std::string, std::chrono::milliseconds, enums with `EnumNames`, std::optional (also of optional: absent, null,
/// value), std::vector, std::map<std::string, std::string or std::optional<std::string>> (null value), nlohmann::json,
/// and structs with fields. A member `Result<> validate() const` is called last, for what concerns several fields; a
/// `static constexpr std::string_view kJsonRule` says the same as members of the JSON Schema. `kSchemaName`, also of
/// `Schema<T>` and `EnumNames<E>`, is the schema's title: what the type is called in generated clients.
///
/// The schema of a member that may be absent doesn't say that it may be null too, which is the same: generators of
/// clients would make three states of it.
namespace skiff::protocol {

/// What a text may hold beside being UTF-8.
enum class Text : std::uint8_t {
  any,
  no_nul,    ///< goes to the kernel as a C string
  id,        ///< [A-Za-z0-9][A-Za-z0-9._-]{0,63}
  env_name,  ///< an environment variable's name: not empty, no '=' and no NUL
};

/// The limits of one field. Those of a vector or map hold for its elements too.
struct Rule {
  std::int64_t minimum =
      std::numeric_limits<std::int64_t>::min();  ///< of integers and milliseconds, on top of the type's
  std::int64_t maximum = std::numeric_limits<std::int64_t>::max();
  std::size_t min_length = 0;  ///< of texts, bytes
  std::size_t max_length = std::string::npos;
  std::size_t max_items = std::string::npos;  ///< of vectors and maps
  Text text = Text::any;
  Text keys = Text::any;    ///< of maps
  bool optional = false;    ///< may be absent (or null), and then keeps the struct's initial value
  bool write_only = false;  ///< a secret: never encoded
};

template <class T, class Member>
struct Field {
  std::string_view name;
  Member T::* member;
  std::string_view help;
  Rule rule;
};

template <class T, class Member>
constexpr Field<T, Member> field(std::string_view name, Member T::* member, std::string_view help, Rule rule = {}) {
  return {name, member, help, rule};
}

/// The words of an enum: `template <> struct EnumNames<Mode> { static constexpr std::array values{EnumName{Mode::wait,
/// "wait"}, ...}; };`
template <class E>
struct EnumName {
  E value;
  std::string_view name;
};
template <class E>
struct EnumNames;

/// The field list of T: `T::fields`, or a specialisation of this.
template <class T>
struct Schema;
template <class T>
  requires requires { T::fields; }
struct Schema<T> {
  static constexpr const auto& fields = T::fields;
};

}  // namespace skiff::protocol
