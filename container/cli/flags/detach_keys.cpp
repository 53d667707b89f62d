#include "container/cli/flags/detach_keys.hpp"

#include <optional>

namespace skiff::container {
namespace {

/// The byte that a terminal sends for a key.
std::optional<char> byte_of(std::string_view key) {
  if (key.size() == 1) return key.front();
  if (!key.starts_with("ctrl-") || key.size() != 6) return std::nullopt;
  const char with = key.back();
  if (with >= 'a' && with <= 'z') return static_cast<char>(with - 'a' + 1);
  // ASCII 64 to 95: the control characters are 64 below.
  if (with == '@' || (with >= '[' && with <= '_')) return static_cast<char>(with - '@');
  return std::nullopt;
}

}  // namespace

Result<DetachKeys> DetachKeys::parse(std::string_view text) {
  DetachKeys keys;
  while (!text.empty()) {
    // A comma in the place of a key is a key, too.
    const std::size_t end = text.find(',', 1);
    const std::string_view key = text.substr(0, end);
    const auto byte = byte_of(key);
    if (!byte) {
      return fail(
          Errc::invalid_field,
          "--detach-keys: \"" + std::string{key} + "\" is not a key: write a character or ctrl-X, separated by commas",
          "--detach-keys");
    }
    keys.keys_ += *byte;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    if (text.empty()) return fail(Errc::invalid_field, "--detach-keys: a key is missing at the end", "--detach-keys");
  }
  return keys;
}

DetachKeys::Typed DetachKeys::take(std::string_view typed) {
  Typed out;
  for (const char key : typed) {
    held_ += key;
    while (!keys_.starts_with(held_)) {
      out.bytes += held_.front();
      held_.erase(0, 1);
    }
    if (!keys_.empty() && held_ == keys_) {
      out.is_detached = true;
      return out;
    }
  }
  return out;
}

Setting detach_keys_row(std::string* text) {
  return {.flag = "detach-keys",
          .environment = "SKIFF_DETACH_KEYS",
          .target = setting::Text{text},
          .value = "KEYS",
          .help = "Keys that detach from a terminal and leave the command running; \"\" for none."};
}

}  // namespace skiff::container
