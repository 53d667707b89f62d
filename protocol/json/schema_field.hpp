#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

/// Field lists. A struct declares its JSON once; decoding with exact errors, encoding and the JSON Schema (2020-12, as
/// in OpenAPI 3.1) follow from that:
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
/// and structs with fields. A member `Result<> validate() const` is called last, for rules that concern several fields;
/// a `static constexpr std::string_view kJsonRule` states the same rules as members of the JSON Schema. `kSchemaName`,
/// also of `Schema<T>` and `EnumNames<E>`, is the schema's title: the name of the type in generated clients.
///
/// The schema of an optional member does not say that null is allowed, too, which means the same as absent: client
/// generators would create three states.
namespace skiff::protocol {

/// Rules for a text beyond valid UTF-8.
enum class Text : std::uint8_t {
  any,
  no_nul,    ///< for the kernel, as a C string
  id,        ///< [A-Za-z0-9][A-Za-z0-9._-]{0,63}
  env_name,  ///< name of an environment variable: not empty, no '=' and no NUL
};

/// The limits of one field. Those of a vector or map also apply to its elements.
struct Rule {
  std::int64_t minimum =
      std::numeric_limits<std::int64_t>::min();  ///< for integers and milliseconds, in addition to the type's limits
  std::int64_t maximum = std::numeric_limits<std::int64_t>::max();
  std::size_t min_length = 0;  ///< for texts, in bytes
  std::size_t max_length = std::string::npos;
  std::size_t max_items = std::string::npos;  ///< for vectors and maps
  Text text = Text::any;
  Text keys = Text::any;    ///< for the keys of maps
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
