#include "container/serve/fleet/record_labels.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/bytes/hex.hpp"
#include "container/serve/keys/api_key.hpp"

namespace skiff::container::serve {
namespace {

constexpr std::string_view kPlain = "key.";
constexpr std::string_view kEncoded = "hex.";
constexpr std::size_t kLongestName = 63;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_plain(std::string_view name) {
  return is_alphanumeric(name.back()) &&
         std::ranges::all_of(name, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

std::string encoded(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text{kEncoded};
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::optional<std::string> decoded(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string name;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = hex_value(digits[i]);
    const int low = hex_value(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    name += static_cast<char>(high * 16 + low);
  }
  return name;
}

}  // namespace

Result<Labels> kept_labels(const Labels& labels) {
  Labels kept;
  for (const auto& [name, value] : labels) {
    if (name.empty()) return fail(Errc::invalid_field, "the name of a label is empty", "labels");
    std::string key = is_plain(name) ? std::string{kPlain} + name : encoded(name);
    if (key.size() > kLongestName) {
      return fail(Errc::invalid_field,
                  "the name of a label is too long: at most 59 letters, digits, - _ and ., or 29 bytes of others",
                  "labels");
    }
    kept[std::move(key)] = value;
  }
  return kept;
}

Labels client_labels(const Labels& kept) {
  Labels labels;
  for (const auto& [key, value] : kept) {
    if (key.starts_with(kPlain)) labels[key.substr(kPlain.size())] = value;
    if (!key.starts_with(kEncoded)) continue;
    if (auto name = decoded(std::string_view{key}.substr(kEncoded.size()))) labels[*name] = value;
  }
  return labels;
}

std::string own_label(const Sandbox& sandbox, std::string_view name) {
  const auto found = sandbox.labels.find(std::string{name});
  return found == sandbox.labels.end() ? std::string{} : found->second;
}

std::string nonce_of(const Sandbox& sandbox) {
  std::string nonce = own_label(sandbox, kNonceLabel);
  return nonce.empty() ? sha256_hex("uid/" + sandbox.id).substr(0, kNonceLetters) : nonce;
}

OnEnd on_end(const Sandbox& sandbox) {
  return own_label(sandbox, kOnEndLabel) == on_end_word(OnEnd::stop) ? OnEnd::stop : OnEnd::remove;
}

std::string_view on_end_word(OnEnd what) noexcept {
  return what == OnEnd::stop ? "stop" : "remove";
}

bool keeps_files(const Sandbox& sandbox) {
  return own_label(sandbox, kFilesLabel) != kLost;
}

bool is_over(const Sandbox& sandbox) {
  return sandbox.state == SandboxState::ended && !sandbox.was_broken && on_end(sandbox) == OnEnd::remove;
}

bool takes_a_place(const Sandbox& sandbox) {
  return sandbox.state == SandboxState::running || sandbox.state == SandboxState::creating || sandbox.may_run_on;
}

bool is_asleep(const Sandbox& sandbox) {
  if (sandbox.state == SandboxState::stopped) return true;
  return sandbox.state == SandboxState::ended && on_end(sandbox) == OnEnd::stop;
}

}  // namespace skiff::container::serve
