#include "container/cli/output/json_path.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

namespace skiff::container {
namespace {

using nlohmann::json;
using Values = std::vector<const json*>;

std::unexpected<Error> bad_path(std::string_view path, std::string_view why) {
  return fail(Errc::invalid_field, "jsonpath \"" + std::string{path} + "\": " + std::string{why});
}

void add_members(Values& into, const json& of) {
  if (!of.is_structured()) return;
  for (const json& member : of) into.push_back(&member);
}

Values members_named(const Values& of, const std::string& name) {
  Values found;
  for (const json* one : of) {
    if (name == "*") {
      add_members(found, *one);
    } else if (one->is_object() && one->contains(name)) {
      found.push_back(&one->at(name));
    }
  }
  return found;
}

Values items_at(const Values& of, long long index) {
  Values found;
  for (const json* one : of) {
    if (!one->is_array()) continue;
    const auto size = static_cast<long long>(one->size());
    const long long at = index < 0 ? index + size : index;
    if (at >= 0 && at < size) found.push_back(&one->at(static_cast<std::size_t>(at)));
  }
  return found;
}

/// Follows an expression in brackets: ['name'], [3], [-1], [*].
Result<Values> take_brackets(const Values& from, std::string_view path, std::string_view inside) {
  const bool is_quoted = inside.size() >= 2 && (inside.front() == '\'' || inside.front() == '"');
  if (is_quoted && inside.back() == inside.front()) {
    return members_named(from, std::string{inside.substr(1, inside.size() - 2)});
  }
  if (inside == "*") return members_named(from, "*");
  long long index = 0;
  const auto [end, error] = std::from_chars(inside.data(), inside.data() + inside.size(), index);
  if (error == std::errc{} && end == inside.data() + inside.size()) return items_at(from, index);
  return bad_path(path, "expected a number, * or a quoted name in []");
}

Result<Values> walk(std::string_view path, const json& root, const json& here) {
  Values values{&here};
  std::string_view rest = path;
  if (rest.starts_with('$')) {
    values = {&root};
    rest.remove_prefix(1);
  } else if (rest.starts_with('@')) {
    rest.remove_prefix(1);
  }
  while (!rest.empty()) {
    if (rest.front() == '[') {
      const std::size_t end = rest.find(']');
      if (end == std::string_view::npos) return bad_path(path, "a ] is missing");
      auto found = take_brackets(values, path, rest.substr(1, end - 1));
      if (!found) return found;
      values = std::move(*found);
      rest.remove_prefix(end + 1);
      continue;
    }
    if (rest.front() != '.') return bad_path(path, "expected . or [ before \"" + std::string{rest} + "\"");
    rest.remove_prefix(1);
    std::string name;
    while (!rest.empty() && rest.front() != '.' && rest.front() != '[') {
      if (rest.front() == '\\' && rest.size() > 1) rest.remove_prefix(1);  // a dot that belongs to the name
      name += rest.front();
      rest.remove_prefix(1);
    }
    if (name.empty() && !rest.empty() && rest.front() == '.')
      return bad_path(path, "a name is missing between two dots");
    if (!name.empty()) values = members_named(values, name);
  }
  return values;
}

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Replaces escapes such as "\n" in a quoted text.
std::string unquoted(std::string_view quoted) {
  std::string text;
  for (std::size_t i = 1; i + 1 < quoted.size(); ++i) {
    if (quoted[i] != '\\' || i + 2 >= quoted.size()) {
      text += quoted[i];
      continue;
    }
    ++i;
    text += quoted[i] == 'n' ? '\n' : quoted[i] == 't' ? '\t' : quoted[i];
  }
  return text;
}

class Template {
 public:
  Template(std::string_view text, const json& root) : rest_{text}, root_{root} {}

  Result<std::string> fill() {
    std::string out;
    SKIFF_TRY_VOID(fill_part(out, root_, false));
    return out;
  }

 private:
  /// Formats up to the end of the template, or of the range.
  Result<> fill_part(std::string& out, const json& here, bool in_range) {
    while (!rest_.empty()) {
      const std::size_t brace = std::min(rest_.find('{'), rest_.size());
      out += rest_.substr(0, brace);
      rest_.remove_prefix(brace);
      if (rest_.empty()) break;
      SKIFF_TRY(auto inside, take_braces());
      if (inside == "end") {
        if (in_range) return {};
        return bad_path(inside, "there is no {range} before {end}");
      }
      const bool is_range = inside.starts_with("range ");
      SKIFF_TRY_VOID(is_range ? fill_range(out, inside.substr(6), here) : fill_one(out, inside, here));
    }
    if (in_range) return bad_path("{range}", "{end} is missing");
    return {};
  }

  Result<> fill_range(std::string& out, std::string_view path, const json& here) {
    SKIFF_TRY(auto values, walk(path, root_, here));
    const std::string_view body = rest_;
    const json nothing;
    std::string unseen;
    // Without values, still parse the range to find its {end}.
    if (values.empty()) return fill_part(unseen, nothing, true);
    for (const json* value : values) {
      rest_ = body;
      SKIFF_TRY_VOID(fill_part(out, *value, true));
    }
    return {};
  }

  Result<> fill_one(std::string& out, std::string_view inside, const json& here) {
    if (inside.starts_with('"') || inside.starts_with('\'')) {
      if (inside.size() < 2 || inside.back() != inside.front()) return bad_path(inside, "a quote is missing");
      out += unquoted(inside);
      return {};
    }
    SKIFF_TRY(auto values, walk(inside, root_, here));
    for (std::size_t i = 0; i < values.size(); ++i) out.append(i == 0 ? "" : " ").append(text_of(*values[i]));
    return {};
  }

  /// Takes the text between { and }; braces in quotes do not count.
  Result<std::string_view> take_braces() {
    char quote = 0;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (quote != 0) {
        if (c == '\\') ++i;
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '}') {
        const std::string_view inside = rest_.substr(1, i - 1);
        rest_.remove_prefix(i + 1);
        return inside;
      }
    }
    return bad_path(rest_, "a } is missing");
  }

  std::string_view rest_;
  const json& root_;
};

}  // namespace

Result<std::string> format_json_path(std::string_view text, const json& value) {
  if (text.find('{') != std::string_view::npos || !text.starts_with('.')) return Template{text, value}.fill();
  const std::string whole = "{" + std::string{text} + "}";
  return Template{whole, value}.fill();
}

std::string known_paths(const json& value) {
  const json* object = &value;
  std::string_view before = ".";
  if (value.is_object() && value.contains("items") && value.at("items").is_array()) {
    if (value.at("items").empty()) return {};
    object = &value.at("items").front();
    before = ".items[*].";
  }
  if (!object->is_object()) return {};
  std::string paths;
  for (const auto& [key, member] : object->items()) {
    paths.append(paths.empty() ? "" : ", ").append(before).append(key);
  }
  return paths;
}

Result<std::vector<json>> find_json_path(std::string_view path, const json& value) {
  const std::string whole = (path.starts_with('.') || path.starts_with('[') ? "" : ".") + std::string{path};
  SKIFF_TRY(auto found, walk(whole, value, value));
  std::vector<json> values;
  for (const json* one : found) values.push_back(*one);
  return values;
}

}  // namespace skiff::container
