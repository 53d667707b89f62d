#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "protocol/json/schema_field.hpp"

/// The implementation of protocol/json/schema.hpp: one codec per member type, and the code for any struct with a table
/// of fields, compiled once. Include schema.hpp instead.
namespace skiff::protocol {

struct JsonLimits;

/// The state of one decoding: the place, the error, the ignored fields.
class Decoding {
 public:
  explicit Decoding(bool lenient) : lenient_{lenient} {}
  /// Keeps the first error, with the place; returns false for the caller to return.
  bool fail(Errc code, std::string_view what);
  /// Keeps an error of a `validate()`.
  bool fail(Error error);
  /// Handles an unknown field: an error, or collected when lenient.
  bool unknown(std::string_view name);
  [[nodiscard]] Error& error() noexcept { return error_; }
  [[nodiscard]] std::vector<std::string>& ignored() noexcept { return ignored_; }

  /// Adds one step to the place (RFC 6901) while it lives.
  class Step {
   public:
    Step(Decoding& decoding, std::string_view name);
    Step(Decoding& decoding, std::size_t index);
    ~Step();
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Decoding& decoding_;
    const std::size_t before_;
  };

 private:
  const bool lenient_;
  std::string place_;
  Error error_;
  std::vector<std::string> ignored_;
};

/// The operations of a type on an untyped address.
struct TypeInfo {
  bool (*decode)(const nlohmann::json&, void*, const Rule&, Decoding&);
  void (*encode)(const void*, std::string&);
  void (*describe)(const Rule&, std::string&);  ///< appends the schema's members, without braces
  bool (*absent)(const void*);                  ///< whether there is nothing to encode; null for types that are always
                                                ///< present
};

struct FieldInfo {
  std::string_view name;
  std::string_view help;
  Rule rule;
  void* (*member)(void*);
  const TypeInfo* type;
  bool required;
};

bool decode_object(const nlohmann::json& value, void* object, std::span<const FieldInfo> fields, Decoding& decoding);
void encode_object(const void* object, std::span<const FieldInfo> fields, std::string& out);
/// Appends the title of a schema and a comma, unless the name is empty.
void describe_title(std::string_view name, std::string& out);
void describe_object(const void* initial, std::span<const FieldInfo> fields, std::string& out);
/// Parses and decodes in one call.
Result<> decode_text(std::string_view text, JsonLimits limits, void* object, const TypeInfo& type, bool lenient,
                     std::vector<std::string>* ignored);
Result<> decode_value(const nlohmann::json& value, void* object, const TypeInfo& type, bool lenient,
                      std::vector<std::string>* ignored);

struct WordTable {
  std::span<const std::string_view> words;
};
bool decode_word(const nlohmann::json& value, std::size_t& index, WordTable table, Decoding& decoding);
void describe_words(WordTable table, std::string& out);
bool decode_signed(const nlohmann::json& value, std::int64_t& out, const Rule& rule, Decoding& decoding);
bool decode_unsigned(const nlohmann::json& value, std::uint64_t& out, const Rule& rule, Decoding& decoding);
void describe_integer(std::int64_t least, std::uint64_t most, const Rule& rule, std::string& out);
/// Returns the number of elements, or nothing (and an error) when it is not an array or has too many.
std::optional<std::size_t> array_size(const nlohmann::json& value, const Rule& rule, Decoding& decoding);
const nlohmann::json& array_item(const nlohmann::json& value, std::size_t index);
bool is_null(const nlohmann::json& value) noexcept;
void encode_word(std::string_view word, std::string& out);
void encode_signed(std::int64_t value, std::string& out);
void encode_unsigned(std::uint64_t value, std::string& out);

template <class M>
struct Codec;

#define SKIFF_PLAIN_CODEC(...)                                                                         \
  template <>                                                                                          \
  struct Codec<__VA_ARGS__> {                                                                          \
    using Value = __VA_ARGS__;                                                                         \
    static bool decode(const nlohmann::json& value, Value& out, const Rule& rule, Decoding& decoding); \
    static void encode(const Value& value, std::string& out);                                          \
    static void describe(const Rule& rule, std::string& out);                                          \
  };
SKIFF_PLAIN_CODEC(bool)
SKIFF_PLAIN_CODEC(std::string)
SKIFF_PLAIN_CODEC(std::chrono::milliseconds)
SKIFF_PLAIN_CODEC(std::map<std::string, std::string>)
SKIFF_PLAIN_CODEC(std::map<std::string, std::optional<std::string>>)
SKIFF_PLAIN_CODEC(nlohmann::json)
#undef SKIFF_PLAIN_CODEC

template <std::integral M>
struct Codec<M> {
  static constexpr auto kLeast = static_cast<std::int64_t>(std::numeric_limits<M>::min());
  static constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<M>::max());

  static bool decode(const nlohmann::json& value, M& out, const Rule& rule, Decoding& decoding) {
    Rule narrow = rule;
    if (narrow.minimum < kLeast) narrow.minimum = kLeast;
    if constexpr (std::is_same_v<M, std::uint64_t>) {
      return decode_unsigned(value, out, narrow, decoding);
    } else {
      if (narrow.maximum > static_cast<std::int64_t>(kMost)) narrow.maximum = static_cast<std::int64_t>(kMost);
      std::int64_t wide = 0;
      if (!decode_signed(value, wide, narrow, decoding)) return false;
      out = static_cast<M>(wide);
      return true;
    }
  }
  static void encode(const M& value, std::string& out) {
    if constexpr (std::is_unsigned_v<M>) {
      encode_unsigned(value, out);
    } else {
      encode_signed(value, out);
    }
  }
  static void describe(const Rule& rule, std::string& out) { describe_integer(kLeast, kMost, rule, out); }
};

template <class M>
  requires std::is_enum_v<M>
struct Codec<M> {
  static constexpr auto kWords = [] {
    std::array<std::string_view, EnumNames<M>::values.size()> words;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = EnumNames<M>::values[i].name;
    return words;
  }();
  static bool decode(const nlohmann::json& value, M& out, const Rule&, Decoding& decoding) {
    std::size_t index = 0;
    if (!decode_word(value, index, {kWords}, decoding)) return false;
    out = EnumNames<M>::values[index].value;
    return true;
  }
  static void encode(const M& value, std::string& out) {
    for (const auto& entry : EnumNames<M>::values) {
      if (entry.value == value) return encode_word(entry.name, out);
    }
    out += "null";
  }
  static void describe(const Rule&, std::string& out) {
    if constexpr (requires { EnumNames<M>::kSchemaName; }) describe_title(EnumNames<M>::kSchemaName, out);
    describe_words({kWords}, out);
  }
};

template <class M>
struct Codec<std::optional<M>> {
  static bool decode(const nlohmann::json& value, std::optional<M>& out, const Rule& rule, Decoding& decoding) {
    out.reset();
    return is_null(value) || Codec<M>::decode(value, out.emplace(), rule, decoding);
  }
  static void encode(const std::optional<M>& value, std::string& out) {
    if (value) return Codec<M>::encode(*value, out);
    out += "null";
  }
  static void describe(const Rule& rule, std::string& out) { Codec<M>::describe(rule, out); }
};

/// Absent, null, or a value: the three cases of a merge patch (RFC 7396).
template <class M>
struct Codec<std::optional<std::optional<M>>> {
  static bool decode(const nlohmann::json& value, std::optional<std::optional<M>>& out, const Rule& rule,
                     Decoding& decoding) {
    return Codec<std::optional<M>>::decode(value, out.emplace(), rule, decoding);
  }
  static void encode(const std::optional<std::optional<M>>& value, std::string& out) {
    if (value) return Codec<std::optional<M>>::encode(*value, out);
    out += "null";
  }
  static void describe(const Rule& rule, std::string& out) {
    out += R"("anyOf":[{)";
    Codec<M>::describe(rule, out);
    out += R"(},{"type":"null"}])";
  }
};

template <class M>
struct Codec<std::vector<M>> {
  static bool decode(const nlohmann::json& value, std::vector<M>& out, const Rule& rule, Decoding& decoding) {
    const auto size = array_size(value, rule, decoding);
    if (!size) return false;
    out.clear();
    out.reserve(*size);
    for (std::size_t i = 0; i < *size; ++i) {
      const Decoding::Step step{decoding, i};
      if (!Codec<M>::decode(array_item(value, i), out.emplace_back(), rule, decoding)) return false;
    }
    return true;
  }
  static void encode(const std::vector<M>& value, std::string& out) {
    out += '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i != 0) out += ',';
      Codec<M>::encode(value[i], out);
    }
    out += ']';
  }
  static void describe(const Rule& rule, std::string& out) {
    out += R"("type":"array","items":{)";
    Codec<M>::describe(rule, out);
    out += '}';
    if (rule.max_items != std::string::npos) (out += R"(,"maxItems":)") += std::to_string(rule.max_items);
  }
};

template <class M>
inline constexpr bool kIsOptional = false;
template <class M>
inline constexpr bool kIsOptional<std::optional<M>> = true;

/// The operations of a type, type-erased.
template <class M>
inline constexpr TypeInfo kTypeInfo{
    [](const nlohmann::json& value, void* out, const Rule& rule, Decoding& decoding) {
      return Codec<M>::decode(value, *static_cast<M*>(out), rule, decoding);
    },
    [](const void* value, std::string& out) { Codec<M>::encode(*static_cast<const M*>(value), out); },
    [](const Rule& rule, std::string& out) { Codec<M>::describe(rule, out); },
    kIsOptional<M> ? +[](const void* value) {
      if constexpr (kIsOptional<M>) {
        return !static_cast<const M*>(value)->has_value();
      } else {
        return value == nullptr;
      }
    } : nullptr};

template <class T, std::size_t I>
constexpr FieldInfo field_info() {
  constexpr auto& declared = std::get<I>(Schema<T>::fields);
  using M = std::remove_reference_t<decltype(std::declval<T&>().*declared.member)>;
  return {declared.name,
          declared.help,
          declared.rule,
          [](void* object) -> void* { return &(static_cast<T*>(object)->*std::get<I>(Schema<T>::fields).member); },
          &kTypeInfo<M>,
          !declared.rule.optional && !kIsOptional<M>};
}

template <class T>
inline constexpr auto kFieldInfos = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array<FieldInfo, sizeof...(I)>{field_info<T, I>()...};
}(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(Schema<T>::fields)>>>{});

template <class T>
  requires requires { Schema<T>::fields; }
struct Codec<T> {
  static bool decode(const nlohmann::json& value, T& out, const Rule&, Decoding& decoding) {
    if (!decode_object(value, &out, kFieldInfos<T>, decoding)) return false;
    if constexpr (requires(const T& object) { object.validate(); }) {
      if (Result<> valid = out.validate(); !valid) return decoding.fail(std::move(valid.error()));
    }
    return true;
  }
  static void encode(const T& value, std::string& out) { encode_object(&value, kFieldInfos<T>, out); }
  static void describe(const Rule&, std::string& out) {
    const T initial{};
    if constexpr (requires { T::kSchemaName; }) describe_title(T::kSchemaName, out);
    if constexpr (requires { Schema<T>::kSchemaName; }) describe_title(Schema<T>::kSchemaName, out);
    describe_object(&initial, kFieldInfos<T>, out);
    if constexpr (requires { T::kJsonRule; }) (out += ',') += T::kJsonRule;
  }
};

}  // namespace skiff::protocol
