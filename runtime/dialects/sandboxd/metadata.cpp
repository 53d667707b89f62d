#include "runtime/dialects/sandboxd/metadata.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "protocol/json/text.hpp"

namespace skiff::runtime::dialects::sandboxd {
namespace {

bool looks_secret(std::string_view name) {
  constexpr std::array<std::string_view, 10> kMarks{"TOKEN", "SECRET", "PASSWORD", "PASSWD",  "CRED",
                                                    "KEY",   "AUTH",   "BEARER",   "PRIVATE", "CERT"};
  std::string upper{name};
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return std::ranges::any_of(kMarks, [&](std::string_view mark) { return upper.contains(mark); });
}

}  // namespace

std::string metadata(const char* const* environment, std::string_view prefix) {
  std::map<std::string_view, std::string_view> shown;
  for (; *environment != nullptr; ++environment) {
    const std::string_view variable{*environment};
    const std::size_t equals = variable.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = variable.substr(0, equals);
    if (name.starts_with(prefix) && !looks_secret(name)) shown[name] = variable.substr(equals + 1);
  }
  std::string text{R"({"env":{)"};
  for (const auto& [name, value] : shown) protocol::append_json_text(text, name, value);
  return text + "}}";
}

}  // namespace skiff::runtime::dialects::sandboxd
