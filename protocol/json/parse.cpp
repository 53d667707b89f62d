#include <nlohmann/json.hpp>

#include "protocol/json/schema.hpp"

namespace skiff::protocol {
namespace {

using Json = nlohmann::json;

/// Builds a value from the parser's events, which still show nesting and repeated keys.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(const JsonLimits& limits) : limits_{limits} {}

  [[nodiscard]] Json& value() noexcept { return root_; }
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return refuse("binary data"); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    const auto [place, fresh] = open_.back()->get_ref<Json::object_t&>().try_emplace(std::move(name));
    member_ = &place->second;
    return fresh || limits_.takes_repeated_keys || refuse("a key is repeated in an object");
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    // Its position is that of the last byte read, counted from 1; its text begins with the parser's own tag.
    problem_ =
        (error.id == 406 ? "a number is too large" : "not valid JSON") + (" at byte " + std::to_string(position));
    return false;
  }

 private:
  bool refuse(std::string_view what) {
    problem_ = what;
    return false;
  }

  /// Returns the place of the next value.
  Json& place() {
    if (open_.empty()) return root_;
    if (open_.back()->is_object()) return *member_;
    return open_.back()->get_ref<Json::array_t&>().emplace_back();
  }

  template <class T>
  bool put(T&& value) {
    place() = std::forward<T>(value);
    return true;
  }

  bool open(Json container) {
    if (open_.size() == limits_.max_depth) {
      return refuse("nested deeper than " + std::to_string(limits_.max_depth) + " levels");
    }
    Json& here = place();
    here = std::move(container);
    open_.push_back(&here);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  const JsonLimits limits_;
  Json root_;
  std::vector<Json*> open_;  // an open container never moves: only the innermost one grows
  Json* member_ = nullptr;
  std::string problem_;
};

}  // namespace

Result<Json> parse_json(std::string_view text, JsonLimits limits) {
  if (text.size() > limits.max_bytes) {
    return fail(Errc::payload_too_large, "the JSON text has more than " + std::to_string(limits.max_bytes) + " bytes");
  }
  // The parser takes any NUL for the end of its input.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return fail(Errc::malformed_json, "not valid JSON at byte " + std::to_string(nul + 1));
  }
  // The input counts bytes, so that errors without a position from the parser get one, too.
  struct Counting {
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;
    const char* at;
    const char** furthest;
    reference operator*() const { return *at; }
    Counting& operator++() {
      *furthest = ++at;
      return *this;
    }
    bool operator==(const Counting& other) const { return at == other.at; }
    bool operator!=(const Counting& other) const { return at != other.at; }
  };
  const char* furthest = text.data();
  Builder builder{limits};
  const Counting first{text.data(), &furthest};
  const Counting last{text.data() + text.size(), &furthest};
  if (!Json::sax_parse(first, last, &builder)) {
    std::string problem = builder.problem();
    if (problem.find(" at byte ") == std::string::npos) problem += " at byte " + std::to_string(furthest - text.data());
    return fail(Errc::malformed_json, std::move(problem));
  }
  return std::move(builder.value());
}

}  // namespace skiff::protocol
