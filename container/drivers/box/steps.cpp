#include "container/drivers/box/steps.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace skiff::container::box {
namespace {

constexpr std::array<std::string_view, 20> kStepWords{
    "plan", "group",     "user", "tree",    "clone", "map",    "network",    "hostname", "loopback", "root",
    "bind", "workspace", "proc", "devices", "pivot", "limits", "privileges", "landlock", "filter",   "exec"};
constexpr std::string_view kRefused = "box refused ";
constexpr std::string_view kCreated = "box created ";
/// Stands for an empty word, and for a character that would end a word.
constexpr char kNoWord = '-';

std::string as_word(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c <= ' '; }, '_');
  return text.empty() ? std::string{kNoWord} : text;
}

/// Takes the next word off `rest`.
std::string_view next_word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find_first_of(" \n"), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

std::string from_word(std::string_view word) {
  return word.size() == 1 && word.front() == kNoWord ? std::string{} : std::string{word};
}

template <class Number>
std::optional<Number> whole_number(std::string_view word) {
  Number number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string_view step_word(Step step) noexcept {
  return kStepWords[static_cast<std::size_t>(step)];
}

std::string refusal_line(const Refusal& refusal) {
  return std::string{kRefused}
      .append(step_word(refusal.step))
      .append(" ")
      .append(std::to_string(refusal.error))
      .append(" ")
      .append(as_word(refusal.what))
      .append(" ")
      .append(as_word(refusal.label))
      .append("\n");
}

std::optional<Refusal> parse_refusal(std::string_view line) {
  if (!line.starts_with(kRefused)) return std::nullopt;
  line.remove_prefix(kRefused.size());
  const auto* const word = std::ranges::find(kStepWords, next_word(line));
  const auto error = whole_number<int>(next_word(line));
  if (word == kStepWords.end() || !error) return std::nullopt;
  Refusal refusal{.step = static_cast<Step>(word - kStepWords.begin()), .error = *error, .what = {}, .label = {}};
  refusal.what = from_word(next_word(line));
  refusal.label = from_word(next_word(line));
  return refusal;
}

std::string created_line(std::int32_t pid) {
  return std::string{kCreated} + std::to_string(pid) + "\n";
}

std::optional<std::int32_t> parse_created(std::string_view line) {
  if (!line.starts_with(kCreated)) return std::nullopt;
  line.remove_prefix(kCreated.size());
  return whole_number<std::int32_t>(next_word(line));
}

}  // namespace skiff::container::box
