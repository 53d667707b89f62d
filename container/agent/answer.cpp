#include "container/agent/answer.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/agent/client.hpp"
#include "protocol/json/base64.hpp"

namespace skiff::container {

using nlohmann::json;

AgentAnswer::AgentAnswer(const json& said, std::string_view what) : said_{&said}, what_{what} {
  if (!said.is_object()) refuse({}, "an object");
}

void AgentAnswer::refuse(std::string_view key, std::string_view expected) {
  if (wrong_) return;
  const std::string field = key.empty() ? std::string{what_} : "\"" + std::string{key} + "\" of " + std::string{what_};
  wrong_ = foreign_answer(field + " is not " + std::string{expected});
}

const json* AgentAnswer::find(std::string_view key) {
  const json* at = said_;
  for (std::string_view rest = key;;) {
    if (!at->is_object()) {
      refuse(key.substr(0, key.size() - rest.size() - (rest.size() < key.size() ? 1 : 0)), "an object");
      return nullptr;
    }
    const std::string_view step = rest.substr(0, rest.find('/'));
    const auto found = at->find(step);
    if (found == at->end() || found->is_null()) return nullptr;
    at = &*found;
    if (step.size() == rest.size()) return at;
    rest.remove_prefix(step.size() + 1);
  }
}

std::string AgentAnswer::text(std::string_view key) {
  const json* value = find(key);
  if (value == nullptr) return {};
  if (value->is_string()) return value->get<std::string>();
  refuse(key, "a text");
  return {};
}

std::optional<std::uint64_t> AgentAnswer::number(std::string_view key) {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_unsigned()) return value->get<std::uint64_t>();
  refuse(key, "a number from 0 on");
  return std::nullopt;
}

bool AgentAnswer::flag(std::string_view key) {
  const json* value = find(key);
  if (value == nullptr) return false;
  if (value->is_boolean()) return value->get<bool>();
  refuse(key, "true or false");
  return false;
}

const json& AgentAnswer::list(std::string_view key) {
  static const json kNone = json::array();
  const json* value = find(key);
  if (value == nullptr) return kNone;
  if (value->is_array()) return *value;
  refuse(key, "a list");
  return kNone;
}

std::vector<std::string> AgentAnswer::texts(std::string_view key) {
  std::vector<std::string> all;
  for (const json& one : list(key)) {
    if (!one.is_string()) {
      refuse(key, "a list of texts");
      return {};
    }
    all.push_back(one.get<std::string>());
  }
  return all;
}

std::string AgentAnswer::bytes(std::string_view key) {
  const std::string other = std::string{key} + "_base64";
  const std::string encoded = text(other);
  if (encoded.empty()) return text(key);
  auto decoded = protocol::decode_base64(encoded);
  if (!decoded) refuse(other, "base64");
  return std::move(decoded).value_or("");
}

Result<> AgentAnswer::check() const {
  if (wrong_) return std::unexpected{*wrong_};
  return {};
}

}  // namespace skiff::container
