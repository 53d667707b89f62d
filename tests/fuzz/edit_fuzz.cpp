#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/content/diff.hpp"
#include "fs/content/edit.hpp"
#include "fs/content/replacement.hpp"
#include "tests/support/unified_diff.hpp"

namespace {

using namespace skiff::fs;

constexpr std::size_t kMost = std::size_t{256} << 10U;

void require(bool condition) {
  if (!condition) std::abort();
}

std::string_view take_field(std::string_view& rest) {
  const std::string_view field = rest.substr(0, rest.find('|'));
  rest.remove_prefix(std::min(field.size() + 1, rest.size()));
  return field;
}

/// Replaces in the plainest way; nullopt if the text is not found as often as the edit says.
std::optional<std::string> replaced_plainly(std::string_view text, const Edit& edit) {
  std::string made;
  std::uint64_t count = 0;
  std::size_t at = 0;
  for (std::size_t found = 0; (found = text.find(edit.old, at)) != std::string_view::npos; ++count) {
    made.append(text.substr(at, found - at)).append(edit.replacement);
    at = found + edit.old.size();
  }
  made += text.substr(at);
  const bool holds = edit.count == 0 ? count > 0 : count == edit.count;
  return holds ? std::optional{made} : std::nullopt;
}

}  // namespace

/// TEXT|OLD|REPLACEMENT|COUNT|OLD|...: what comes out is what the plain way makes; the pieces that are said to have
/// changed are those that did; and the diff makes the new text of the old one, and back.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest{reinterpret_cast<const char*>(data), size};
  const std::string text{take_field(rest)};
  std::vector<Edit> edits;
  std::optional<std::string> plain = text;
  while (!rest.empty()) {
    Edit edit{.old = std::string{take_field(rest)}, .replacement = std::string{take_field(rest)}};
    const std::string_view count = take_field(rest);
    edit.count = count.empty() ? 0 : static_cast<unsigned char>(count.front()) % 10;
    if (edit.old.empty()) return 0;
    if (plain) plain = replaced_plainly(*plain, edit);
    if (plain && plain->size() > kMost) return 0;
    edits.push_back(std::move(edit));
  }
  const auto replaced = replace(text, edits);
  require(replaced.has_value() == plain.has_value());
  if (!replaced) return 0;
  require(replaced->text == *plain);

  std::string pieced;
  std::size_t at = 0;
  std::vector<Changed> back;
  for (const Changed& piece : replaced->changed) {
    require(at <= piece.old_begin && piece.old_begin <= piece.old_end && piece.old_end <= text.size());
    pieced += text.substr(at, piece.old_begin - at);
    require(pieced.size() == piece.new_begin && piece.new_begin <= piece.new_end && piece.new_end <= plain->size());
    pieced += plain->substr(piece.new_begin, piece.new_end - piece.new_begin);
    at = piece.old_end;
    back.push_back({piece.new_begin, piece.new_end, piece.old_begin, piece.old_end});
  }
  require(pieced + text.substr(at) == *plain);

  const Diff diff = unified_diff("f", text, *plain, replaced->changed);
  if (diff.cut) return 0;
  require(diff.text.empty() == (text == *plain));
  require(skiff::test::applied(text, diff.text) == *plain);
  require(skiff::test::applied(*plain, unified_diff("f", *plain, text, back).text) == text);
  require(diff.text.starts_with(unified_diff("f", text, *plain, replaced->changed, diff.text.size() / 2).text));
  return 0;
}
