#include "runtime/api/code/languages.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/bytes/gzip.hpp"
#include "base/embedded_file.hpp"
#include "protocol/json/text.hpp"

SKIFF_EMBED_FILE(skiff_code_workers, SKIFF_CODE_WORKERS)

namespace skiff::runtime::api {
namespace {

constexpr std::size_t kLongestSources = std::size_t{1} << 20U;
constexpr std::size_t kBash = 2;

/// In the order of the embedded sources.
const std::array<CodeLanguage, 3>& code_languages() {
  static const std::array<CodeLanguage, 3> all{{
      {.name = "python", .argv = {"python3", "-c", "exec(compile(open(3).read(), 'skiff', 'exec'))"}},
      {.name = "javascript", .argv = {"node", "-e", "eval(require('fs').readFileSync(3, 'utf8'))"}},
      {.name = "bash", .argv = {"bash", "-c", ". /proc/self/fd/3"}},
  }};
  return all;
}

std::size_t place_of(const CodeLanguage& language) {
  return static_cast<std::size_t>(&language - code_languages().data());
}

/// For a shell: 'it'\''s'.
std::string in_quotes(std::string_view text) {
  std::string out{'\''};
  for (const char c : text) {
    if (c == '\'') {
      out += R"('\'')";
    } else {
      out += c;
    }
  }
  return out + '\'';
}

}  // namespace

Result<const CodeLanguage*> find_code_language(std::string_view name) {
  if (name.empty() || name == "python3") name = "python";
  if (name == "js") name = "javascript";
  const auto& all = code_languages();
  const auto* const found = std::ranges::find(all, name, &CodeLanguage::name);
  if (found != all.end()) return found;
  return fail(Errc::language_unavailable, "the languages are python, javascript (node) and bash", "/language");
}

std::string code_worker_source(const CodeLanguage& language) {
  const std::string all = unpack_gzip(skiff_code_workers(), kLongestSources).value();
  std::string_view rest = all;
  for (std::size_t i = 0; i < place_of(language); ++i) rest.remove_prefix(rest.find('\0') + 1);
  return std::string{rest.substr(0, rest.find('\0'))};
}

std::string code_worker_request(const CodeLanguage& language, std::uint64_t id, const std::string& code,
                                const std::map<std::string, std::string>& env) {
  if (place_of(language) == kBash) {
    std::string text = std::to_string(id) + '\0';
    for (const auto& [name, value] : env) text += "export " + name + '=' + in_quotes(value) + "; ";
    return text + code + '\0';
  }
  std::string text{'{'};
  protocol::append_json_number(text, "id", id);
  protocol::append_json_text(text, "code", code);
  protocol::append_json_key(text, "env");
  text += '{';
  for (const auto& [name, value] : env) protocol::append_json_text(text, name, value);
  return text + "}}\n";
}

}  // namespace skiff::runtime::api
