#include "container/kube/objects/yaml.hpp"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>
#include <nlohmann/json.hpp>

#include "protocol/json/utf8.hpp"

namespace skiff::kube {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostYamlBytes = 4 * 1024 * 1024;
constexpr int kMostLevels = 64;
/// Aliases multiply: ten lines can stand for a billion values.
constexpr std::size_t kMostValues = 100'000;

std::unexpected<Error> bad(const YAML::Mark& mark, std::string_view what) {
  std::string text = "not valid YAML: ";
  if (!mark.is_null()) {
    text = "line " + std::to_string(mark.line + 1) + ", column " + std::to_string(mark.column + 1) + ": ";
  }
  return fail(Errc::invalid_field, text + std::string{what});
}

template <class Number>
bool read_number(std::string_view text, Number& out, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

/// The value of a scalar without quotes (YAML 1.2.2, 10.3.2).
Json plain_scalar(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return nullptr;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  std::string_view digits = text;
  if (digits.front() == '+') digits.remove_prefix(1);
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0o")) {
    base = digits[1] == 'x' ? 16 : 8;
    digits.remove_prefix(2);
  }
  std::int64_t integer = 0;
  if (read_number(digits, integer, base)) return integer;
  std::uint64_t large = 0;
  if (read_number(digits, large, base)) return large;
  if (base != 10 || digits.find_first_not_of("0123456789+-.eE") != std::string_view::npos) return text;
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc{} && end == digits.data() + digits.size() && std::isfinite(number)) return number;
  return text;
}

class Converter {
 public:
  Result<Json> convert(const YAML::Node& node, int level) {
    if (++values_ > kMostValues) return bad(node.Mark(), "more than 100000 values");
    if (level > kMostLevels) return bad(node.Mark(), "more than 64 levels");
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        return Json{};
      case YAML::NodeType::Scalar:
        return scalar(node);
      case YAML::NodeType::Sequence:
        return sequence(node, level);
      case YAML::NodeType::Map:
        return map(node, level);
    }
    return Json{};
  }

 private:
  static Result<Json> scalar(const YAML::Node& node) {
    const std::string& text = node.Scalar();
    if (!protocol::is_valid_utf8(text)) return bad(node.Mark(), "not valid UTF-8");
    // "?" is the tag of a plain scalar without a type.
    return node.Tag() == "?" ? plain_scalar(text) : Json(text);
  }

  Result<Json> sequence(const YAML::Node& node, int level) {
    Json out = Json::array();
    for (const YAML::Node& item : node) {
      auto value = convert(item, level + 1);
      if (!value) return value;
      out.push_back(std::move(*value));
    }
    return out;
  }

  Result<Json> map(const YAML::Node& node, int level) {
    Json out = Json::object();
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) return bad(entry.first.Mark(), "a key must be a single word or text");
      const std::string& key = entry.first.Scalar();
      if (!protocol::is_valid_utf8(key)) return bad(entry.first.Mark(), "not valid UTF-8");
      auto value = convert(entry.second, level + 1);
      if (!value) return value;
      const bool fresh = out.get_ref<Json::object_t&>().try_emplace(key, std::move(*value)).second;
      if (!fresh) return bad(entry.first.Mark(), "the key \"" + key + "\" is repeated");
    }
    return out;
  }

  std::size_t values_ = 0;
};

/// Notes only where documents begin.
class Beginnings final : public YAML::EventHandler {
 public:
  [[nodiscard]] const YAML::Mark& last() const { return last_; }

  void OnDocumentStart(const YAML::Mark& mark) override { last_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  YAML::Mark last_;
};

}  // namespace

Result<Json> parse_yaml(std::string_view text) {
  if (text.size() > kMostYamlBytes) return fail(Errc::payload_too_large, "YAML of more than 4 MiB");
  try {
    // Not YAML::LoadAll, which returns documents without end for a text such as ", x" (0.7.0).
    std::istringstream stream{std::string{text}};
    YAML::Parser parser{stream};
    Beginnings beginnings;
    if (!parser.HandleNextDocument(beginnings)) return Json{};
    if (parser.HandleNextDocument(beginnings)) {
      return bad(beginnings.last(), "something that is not part of the document (a second one?)");
    }
    return Converter{}.convert(YAML::Load(std::string{text}), 0);
  } catch (const YAML::Exception& error) {
    return bad(error.mark, error.msg);
  }
}

}  // namespace skiff::kube
