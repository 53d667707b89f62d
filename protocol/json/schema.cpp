#include "protocol/json/schema.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/id.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::protocol {
namespace {

using Json = nlohmann::json;

void append_text(std::string& out, std::string_view text) {
  if (is_valid_utf8(text)) return append_json_string(out, text);
  append_json_string(out, to_valid_utf8(text));
}

bool check_text(std::string_view text, Text kind, Decoding& decoding) {
  switch (kind) {
    case Text::any:
      return true;
    case Text::no_nul:
      return text.find('\0') == std::string_view::npos ||
             decoding.fail(Errc::invalid_field, "a NUL character is not allowed");
    case Text::id:
      return is_valid_id(text) ||
             decoding.fail(Errc::invalid_id,
                           "an id has 1 to 64 of A-Z a-z 0-9 . _ - and begins with a letter or digit");
    case Text::env_name:
      return (!text.empty() && text.find_first_of(std::string_view{"=\0", 2}) == std::string_view::npos) ||
             decoding.fail(Errc::invalid_field, "a variable's name is not empty and has no '=' and no NUL");
  }
  return true;
}

bool check_length(std::string_view text, const Rule& rule, Decoding& decoding) {
  if (text.size() < rule.min_length) {
    return decoding.fail(Errc::invalid_field, "at least " + std::to_string(rule.min_length) + " bytes are needed");
  }
  if (text.size() > rule.max_length) {
    return decoding.fail(Errc::invalid_field, "more than " + std::to_string(rule.max_length) + " bytes");
  }
  return true;
}

bool check_items(const Json& value, const Rule& rule, Decoding& decoding) {
  return value.size() <= rule.max_items ||
         decoding.fail(Errc::invalid_field, "more than " + std::to_string(rule.max_items) + " entries");
}

bool out_of_range(const Rule& rule, Decoding& decoding) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                         most = std::numeric_limits<std::int64_t>::max();
  std::string text = "expected an integer";
  if (rule.minimum != least) text += " of at least " + std::to_string(rule.minimum);
  if (rule.maximum != most)
    text += (rule.minimum != least ? " and at most " : " of at most ") + std::to_string(rule.maximum);
  return decoding.fail(Errc::invalid_field, text);
}

/// Decodes a map from text to `Value` (std::string, or an optional string, where null means no value).
template <class Value>
bool decode_map(const Json& value, std::map<std::string, Value>& out, const Rule& rule, Decoding& decoding) {
  if (!value.is_object()) return decoding.fail(Errc::invalid_field, "expected an object");
  if (!check_items(value, rule, decoding)) return false;
  out.clear();
  for (const auto& [key, item] : value.get_ref<const Json::object_t&>()) {
    const Decoding::Step step{decoding, key};
    if (!check_text(key, rule.keys, decoding)) return false;
    if (!Codec<Value>::decode(item, out[key], rule, decoding)) return false;
  }
  return true;
}

template <class Value>
void encode_map(const std::map<std::string, Value>& value, std::string& out) {
  out += '{';
  bool first = true;
  for (const auto& [key, item] : value) {
    if (!std::exchange(first, false)) out += ',';
    append_text(out, key);
    out += ':';
    Codec<Value>::encode(item, out);
  }
  out += '}';
}

void describe_map(std::string_view type, const Rule& rule, std::string& out) {
  out += R"("type":"object","additionalProperties":{"type":)";
  out += type;
  if (rule.text == Text::no_nul) out += R"(,"pattern":"^[^\\u0000]*$")";
  if (rule.max_length != std::string::npos) (out += R"(,"maxLength":)") += std::to_string(rule.max_length);
  out += '}';
  if (rule.keys == Text::env_name) out += R"(,"propertyNames":{"pattern":"^[^=\\u0000]+$"})";
  if (rule.keys == Text::id) out += R"(,"propertyNames":{"pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"})";
  if (rule.max_items != std::string::npos) (out += R"(,"maxProperties":)") += std::to_string(rule.max_items);
}

}  // namespace

// --- where a decoding is ---

Decoding::Step::Step(Decoding& decoding, std::string_view name) : decoding_{decoding}, before_{decoding.place_.size()} {
  decoding.place_ += '/';
  for (const char c : name) {
    if (c == '~') {
      decoding.place_ += "~0";
    } else if (c == '/') {
      decoding.place_ += "~1";
    } else {
      decoding.place_ += c;
    }
  }
}

Decoding::Step::Step(Decoding& decoding, std::size_t index) : Step{decoding, std::to_string(index)} {}

Decoding::Step::~Step() {
  decoding_.place_.resize(before_);
}

bool Decoding::fail(Errc code, std::string_view what) {
  return fail(Error{code, std::string{what}});
}

bool Decoding::fail(Error error) {
  error.field = place_ + error.field;
  error.message = (error.field.empty() ? "the body" : error.field) + ": " + error.message;
  error_ = std::move(error);
  return false;
}

bool Decoding::unknown(std::string_view name) {
  const Step step{*this, name};
  if (!lenient_) return fail(Errc::unknown_field, "unknown field");
  ignored_.push_back(place_);
  return true;
}

// --- structs ---

bool decode_object(const Json& value, void* object, std::span<const FieldInfo> fields, Decoding& decoding) {
  if (!value.is_object()) return decoding.fail(Errc::invalid_field, "expected an object");
  std::size_t found = 0;
  for (const FieldInfo& field : fields) {
    const auto member = value.find(field.name);
    if (member == value.end()) {
      if (!field.required) continue;
      const Decoding::Step step{decoding, field.name};
      return decoding.fail(Errc::missing_field, "required");
    }
    ++found;
    if (field.rule.optional && member->is_null()) continue;
    const Decoding::Step step{decoding, field.name};
    if (!field.type->decode(*member, field.member(object), field.rule, decoding)) return false;
  }
  if (found == value.size()) return true;
  for (const auto& [name, member] : value.get_ref<const Json::object_t&>()) {
    const bool known = std::ranges::any_of(fields, [&](const FieldInfo& field) { return field.name == name; });
    if (!known && !decoding.unknown(name)) return false;
  }
  return true;
}

void encode_object(const void* object, std::span<const FieldInfo> fields, std::string& out) {
  out += '{';
  bool first = true;
  for (const FieldInfo& field : fields) {
    // `member` only computes an address; this code writes nothing through it.
    const void* member = field.member(const_cast<void*>(object));
    if (field.rule.write_only || (field.type->absent != nullptr && field.type->absent(member))) continue;
    if (!std::exchange(first, false)) out += ',';
    append_json_string(out, field.name);
    out += ':';
    field.type->encode(member, out);
  }
  out += '}';
}

void describe_title(std::string_view name, std::string& out) {
  if (name.empty()) return;
  out += R"("title":)";
  append_json_string(out, name);
  out += ',';
}

void describe_object(const void* initial, std::span<const FieldInfo> fields, std::string& out) {
  out += R"("type":"object","properties":{)";
  std::string required;
  bool first = true;
  for (const FieldInfo& field : fields) {
    if (!std::exchange(first, false)) out += ',';
    append_json_string(out, field.name);
    out += ":{";
    const std::size_t before = out.size();
    field.type->describe(field.rule, out);
    auto next = [&, more = out.size() != before]() mutable {
      if (std::exchange(more, true)) out += ',';
    };
    if (!field.help.empty()) {
      next();
      out += R"("description":)";
      append_json_string(out, field.help);
    }
    if (field.rule.write_only) {
      next();
      out += R"("writeOnly":true)";
    }
    if (field.rule.optional && !field.rule.write_only && field.type->absent == nullptr) {
      std::string value;
      field.type->encode(field.member(const_cast<void*>(initial)), value);
      // Many client generators cannot express a list, an object or null as a default.
      if (!value.starts_with('[') && !value.starts_with('{') && value != "null") {
        next();
        (out += R"("default":)") += value;
      }
    }
    out += '}';
    if (!field.required) continue;
    if (!required.empty()) required += ',';
    append_json_string(required, field.name);
  }
  out += '}';
  if (!required.empty()) ((out += R"(,"required":[)") += required) += ']';
  out += R"(,"additionalProperties":false)";
}

Result<> decode_value(const Json& value, void* object, const TypeInfo& type, bool lenient,
                      std::vector<std::string>* ignored) {
  Decoding decoding{lenient};
  if (!type.decode(value, object, Rule{}, decoding)) return std::unexpected{std::move(decoding.error())};
  if (ignored != nullptr) *ignored = std::move(decoding.ignored());
  return {};
}

Result<> decode_text(std::string_view text, JsonLimits limits, void* object, const TypeInfo& type, bool lenient,
                     std::vector<std::string>* ignored) {
  const Result<Json> value = parse_json(text, limits);
  if (!value) return std::unexpected{value.error()};
  return decode_value(*value, object, type, lenient, ignored);
}

// --- numbers, words, arrays ---

namespace {

/// JSON does not distinguish numbers: 1.0 is the integer 1 (JSON Schema 2020-12, validation, 6.1.1).
std::optional<Json> as_integer(const Json& value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  const auto* number = value.get_ptr<const Json::number_float_t*>();
  if (number == nullptr || std::trunc(*number) != *number || std::fabs(*number) > kExact) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(*number);
  return whole < 0 ? Json(whole) : Json(static_cast<std::uint64_t>(whole));
}

}  // namespace

bool decode_signed(const Json& value, std::int64_t& out, const Rule& rule, Decoding& decoding) {
  if (const auto whole = as_integer(value)) return decode_signed(*whole, out, rule, decoding);
  if (!value.is_number_integer()) return decoding.fail(Errc::invalid_field, "expected an integer");
  // nlohmann::json stores non-negative integers unsigned; they may be too large for the signed type.
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return out_of_range(rule, decoding);
  }
  out = value.get<std::int64_t>();
  return (out >= rule.minimum && out <= rule.maximum) || out_of_range(rule, decoding);
}

bool decode_unsigned(const Json& value, std::uint64_t& out, const Rule& rule, Decoding& decoding) {
  if (const auto whole = as_integer(value)) return decode_unsigned(*whole, out, rule, decoding);
  if (!value.is_number_integer()) return decoding.fail(Errc::invalid_field, "expected an integer");
  if (!value.is_number_unsigned()) return out_of_range(rule, decoding);
  out = value.get<std::uint64_t>();
  const bool bounded = rule.maximum != std::numeric_limits<std::int64_t>::max();
  if (rule.minimum > 0 && out < static_cast<std::uint64_t>(rule.minimum)) return out_of_range(rule, decoding);
  if (bounded && out > static_cast<std::uint64_t>(std::max<std::int64_t>(0, rule.maximum))) {
    return out_of_range(rule, decoding);
  }
  return true;
}

void describe_integer(std::int64_t least, std::uint64_t most, const Rule& rule, std::string& out) {
  out += R"("type":"integer","minimum":)";
  append_json_integer(out, std::max(least, rule.minimum));
  if (rule.maximum != std::numeric_limits<std::int64_t>::max()) {
    most = std::min(most, static_cast<std::uint64_t>(std::max<std::int64_t>(0, rule.maximum)));
  }
  out += R"(,"maximum":)";
  append_json_integer(out, most);
}

bool decode_word(const Json& value, std::size_t& index, WordTable table, Decoding& decoding) {
  const auto* text = value.get_ptr<const std::string*>();
  if (text != nullptr) {
    for (index = 0; index < table.words.size(); ++index) {
      if (table.words[index] == *text) return true;
    }
  }
  std::string list;
  for (const std::string_view word : table.words) {
    if (!list.empty()) list += ", ";
    list += word;
  }
  return decoding.fail(Errc::invalid_field, "expected one of " + list);
}

void describe_words(WordTable table, std::string& out) {
  out += R"("type":"string","enum":[)";
  for (std::size_t i = 0; i < table.words.size(); ++i) {
    if (i != 0) out += ',';
    append_json_string(out, table.words[i]);
  }
  out += ']';
}

void encode_word(std::string_view word, std::string& out) {
  append_json_string(out, word);
}
void encode_signed(std::int64_t value, std::string& out) {
  append_json_integer(out, value);
}
void encode_unsigned(std::uint64_t value, std::string& out) {
  append_json_integer(out, value);
}

std::optional<std::size_t> array_size(const Json& value, const Rule& rule, Decoding& decoding) {
  if (!value.is_array()) {
    decoding.fail(Errc::invalid_field, "expected an array");
    return {};
  }
  if (!check_items(value, rule, decoding)) return {};
  return value.size();
}

const Json& array_item(const Json& value, std::size_t index) {
  return value[index];
}

bool is_null(const Json& value) noexcept {
  return value.is_null();
}

// --- plain types ---

bool Codec<bool>::decode(const Json& value, bool& out, const Rule&, Decoding& decoding) {
  if (!value.is_boolean()) return decoding.fail(Errc::invalid_field, "expected true or false");
  out = value.get<bool>();
  return true;
}
void Codec<bool>::encode(const bool& value, std::string& out) {
  out += value ? "true" : "false";
}
void Codec<bool>::describe(const Rule&, std::string& out) {
  out += R"("type":"boolean")";
}

bool Codec<std::string>::decode(const Json& value, std::string& out, const Rule& rule, Decoding& decoding) {
  const auto* text = value.get_ptr<const std::string*>();
  if (text == nullptr) return decoding.fail(Errc::invalid_field, "expected a string");
  if (!check_length(*text, rule, decoding) || !check_text(*text, rule.text, decoding)) return false;
  out = *text;
  return true;
}
void Codec<std::string>::encode(const std::string& value, std::string& out) {
  append_text(out, value);
}
void Codec<std::string>::describe(const Rule& rule, std::string& out) {
  out += R"("type":"string")";
  if (rule.text == Text::id) out += R"(,"pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")";
  if (rule.text == Text::env_name) out += R"(,"pattern":"^[^=\\u0000]+$")";
  if (rule.text == Text::no_nul) out += R"(,"pattern":"^[^\\u0000]*$")";
  if (rule.min_length != 0) (out += R"(,"minLength":)") += std::to_string(rule.min_length);
  if (rule.max_length != std::string::npos) (out += R"(,"maxLength":)") += std::to_string(rule.max_length);
}

// Ten years, so that adding the value to a clock cannot overflow.
constexpr std::int64_t kLongest = 315'360'000'000;

bool Codec<std::chrono::milliseconds>::decode(const Json& value, std::chrono::milliseconds& out, const Rule& rule,
                                              Decoding& decoding) {
  Rule narrow = rule;
  narrow.minimum = std::max<std::int64_t>(0, rule.minimum);
  narrow.maximum = std::min(kLongest, rule.maximum);
  std::int64_t count = 0;
  if (!decode_signed(value, count, narrow, decoding)) return false;
  out = std::chrono::milliseconds{count};
  return true;
}
void Codec<std::chrono::milliseconds>::encode(const std::chrono::milliseconds& value, std::string& out) {
  append_json_integer(out, std::int64_t{value.count()});
}
void Codec<std::chrono::milliseconds>::describe(const Rule& rule, std::string& out) {
  describe_integer(0, static_cast<std::uint64_t>(kLongest), rule, out);
}

bool Codec<std::map<std::string, std::string>>::decode(const Json& value, Value& out, const Rule& rule,
                                                       Decoding& decoding) {
  return decode_map(value, out, rule, decoding);
}
void Codec<std::map<std::string, std::string>>::encode(const Value& value, std::string& out) {
  encode_map(value, out);
}
void Codec<std::map<std::string, std::string>>::describe(const Rule& rule, std::string& out) {
  describe_map(R"("string")", rule, out);
}

bool Codec<std::map<std::string, std::optional<std::string>>>::decode(const Json& value, Value& out, const Rule& rule,
                                                                      Decoding& decoding) {
  return decode_map(value, out, rule, decoding);
}
void Codec<std::map<std::string, std::optional<std::string>>>::encode(const Value& value, std::string& out) {
  encode_map(value, out);
}
void Codec<std::map<std::string, std::optional<std::string>>>::describe(const Rule& rule, std::string& out) {
  describe_map(R"(["string","null"])", rule, out);
}

bool Codec<Json>::decode(const Json& value, Json& out, const Rule&, Decoding&) {
  out = value;
  return true;
}
void Codec<Json>::encode(const Json& value, std::string& out) {
  out += value.dump(-1, ' ', false, Json::error_handler_t::replace);
}
void Codec<Json>::describe(const Rule&, std::string&) {}

}  // namespace skiff::protocol
