#include "base/settings/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

namespace skiff {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};
// The largest unit comes first: a value is shown in the largest unit that divides it.
constexpr std::array kSizeUnits{Unit{"GiB", 1ULL << 30},
                                Unit{"MiB", 1ULL << 20},
                                Unit{"KiB", 1ULL << 10},
                                Unit{"G", 1ULL << 30},
                                Unit{"M", 1ULL << 20},
                                Unit{"K", 1ULL << 10},
                                Unit{"B", 1}};
constexpr std::array kTimeUnits{Unit{"d", 86'400'000}, Unit{"h", 3'600'000}, Unit{"m", 60'000}, Unit{"s", 1'000},
                                Unit{"ms", 1}};

/// Parses a decimal number with one of `units`; without a unit the factor is 1.
std::optional<std::uint64_t> parse_number(std::string_view text, std::span<const Unit> units) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  if (suffix.empty()) return number;
  const auto unit = std::ranges::find(units, suffix, &Unit::name);
  if (unit == units.end()) return std::nullopt;
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(number, unit->factor, &product)) return std::nullopt;
  return product;
}

std::string show_number(std::uint64_t number, std::span<const Unit> units) {
  if (number == 0) return "0";
  for (const Unit& unit : units) {
    if (unit.factor > 1 && number % unit.factor == 0)
      return std::to_string(number / unit.factor) + std::string{unit.name};
  }
  return std::to_string(number);
}

std::string show_time(std::chrono::milliseconds time) {
  const std::string text = show_number(static_cast<std::uint64_t>(time.count()), kTimeUnits);
  return text.back() >= '0' && text.back() <= '9' && text != "0" ? text + "ms" : text;
}

std::string joined(const auto& words, std::string_view between) {
  std::string text;
  for (const auto& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

std::optional<bool> parse_switch(std::string_view text) {
  for (const std::string_view word : {"true", "1", "yes", "on"}) {
    if (text == word) return true;
  }
  for (const std::string_view word : {"false", "0", "no", "off"}) {
    if (text == word) return false;
  }
  return std::nullopt;
}

/// Describes the accepted values, for messages and the documentation.
std::string expectation(const setting::Target& target) {
  return std::visit(Overloaded{
                        [](const setting::Switch&) -> std::string { return "true or false"; },
                        [](const setting::Text&) -> std::string { return "text"; },
                        [](const setting::Choice& choice) { return "one of " + joined(choice.words, ", "); },
                        [](const setting::List& list) {
                          return list.words.empty() ? std::string{"text"} : "one of " + joined(list.words, ", ");
                        },
                        [](const setting::Count& count) {
                          return "a number from " + std::to_string(count.least) +
                                 (count.most >= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
                                      ? " up"
                                      : " to " + std::to_string(count.most));
                        },
                        [](const setting::Size& size) {
                          return "a size from " + show_number(size.least, kSizeUnits) + " to " +
                                 show_number(size.most, kSizeUnits);
                        },
                        [](const setting::Duration& time) {
                          return "a time from " + show_time(time.least) + " to " + show_time(time.most);
                        },
                    },
                    target);
}

std::string current_value(const setting::Target& target) {
  return std::visit(Overloaded{
                        [](const setting::Switch& it) -> std::string { return *it.into ? "true" : "false"; },
                        [](const setting::Text& it) { return *it.into; },
                        [](const setting::Choice& it) { return *it.into; },
                        [](const setting::List& it) { return joined(*it.into, ","); },
                        [](const setting::Count& it) { return std::to_string(*it.into); },
                        [](const setting::Size& it) { return show_number(*it.into, kSizeUnits); },
                        [](const setting::Duration& it) { return show_time(*it.into); },
                    },
                    target);
}

bool store_number(std::uint64_t& into, std::optional<std::uint64_t> number, std::uint64_t least, std::uint64_t most) {
  if (!number || *number < least || *number > most) return false;
  into = *number;
  return true;
}

/// Returns false, and leaves the target as it was, when `text` does not meet the expectation. Lists are appended to.
bool store(const setting::Target& target, std::string_view text) {
  return std::visit(
      Overloaded{
          [&](const setting::Switch& it) {
            const auto value = parse_switch(text);
            if (value) *it.into = *value;
            return value.has_value();
          },
          [&](const setting::Text& it) {
            *it.into = text;
            return true;
          },
          [&](const setting::Choice& it) {
            const bool known = std::ranges::any_of(it.words, [text](std::string_view word) {
              return text == word || (word.ends_with('=') && text.starts_with(word));
            });
            if (known) *it.into = text;
            return known;
          },
          [&](const setting::List& it) {
            if (text.empty() || (!it.words.empty() && std::ranges::count(it.words, text) == 0)) return false;
            it.into->emplace_back(text);
            return true;
          },
          [&](const setting::Count& it) { return store_number(*it.into, parse_number(text, {}), it.least, it.most); },
          [&](const setting::Size& it) {
            return store_number(*it.into, parse_number(text, kSizeUnits), it.least, it.most);
          },
          [&](const setting::Duration& it) {
            std::uint64_t value = 0;
            if (!store_number(value, parse_number(text, kTimeUnits), static_cast<std::uint64_t>(it.least.count()),
                              static_cast<std::uint64_t>(it.most.count()))) {
              return false;
            }
            *it.into = std::chrono::milliseconds{value};
            return true;
          },
      },
      target);
}

/// Computes Levenshtein's distance with one row of the matrix.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({row[j + 1] + 1, row[j] + 1, replaced}));
    }
  }
  return row.back();
}

std::unexpected<Error> bad_value(const Setting& row, std::string where, std::string_view text) {
  std::string message = where;
  // A setting that only the environment can give is a secret: messages do not quote it.
  if (!row.flag.empty()) message += " \"" + std::string{text.substr(0, 200)} + "\"";
  message += ": expected " + expectation(row.target);
  return fail(Errc::invalid_field, std::move(message), std::move(where));
}

}  // namespace

SettingsTable::SettingsTable(std::vector<Setting> rows) {
  // Groups keep the order in which they begin; rows of one group may come from several tables.
  std::vector<std::string_view> groups;
  for (const Setting& row : rows) {
    if (std::ranges::find(groups, row.group) == groups.end()) groups.push_back(row.group);
  }
  rows_.reserve(rows.size());
  for (const std::string_view group : groups) {
    for (Setting& row : rows) {
      if (row.group == group) rows_.push_back(std::move(row));
    }
  }
  for (const Setting& row : rows_) {
    defaults_.push_back(row.shown_default.empty() ? current_value(row.target) : std::string{row.shown_default});
  }
}

const Setting* SettingsTable::find(std::string_view flag) const {
  if (flag.empty()) return nullptr;
  const auto row = std::ranges::find(rows_, flag, &Setting::flag);
  return row == rows_.end() ? nullptr : &*row;
}

std::string_view nearest_word(std::string_view typed, std::span<const std::string_view> known) {
  std::string_view best;
  // A word at this distance or further is not a typing error.
  std::size_t least = std::max<std::size_t>(2, typed.size() / 3) + 1;
  for (const std::string_view word : known) {
    if (word.empty()) continue;
    // A word that was abbreviated or extended is near as well.
    const bool part = typed.size() >= 4 && (word.starts_with(typed) || typed.starts_with(word));
    const std::size_t distance = part ? 1 : edit_distance(typed, word);
    if (distance < least) {
      least = distance;
      best = word;
    }
  }
  return best;
}

bool setting::takes_next_argument(const Target& target) noexcept {
  if (const auto* choice = std::get_if<Choice>(&target)) return choice->alone.empty();
  return !std::holds_alternative<Switch>(target);
}

std::vector<std::string> as_arguments(const Setting& row) {
  const std::string flag = "--" + std::string{row.flag};
  if (const auto* is_on = std::get_if<setting::Switch>(&row.target)) {
    return {*is_on->into ? flag : "--no-" + std::string{row.flag}};
  }
  if (!setting::takes_next_argument(row.target)) return {flag + "=" + current_value(row.target)};
  const auto* list = std::get_if<setting::List>(&row.target);
  std::vector<std::string> arguments;
  for (const std::string& value : list != nullptr ? *list->into : std::vector{current_value(row.target)}) {
    arguments.insert(arguments.end(), {flag, value});
  }
  return arguments;
}

std::string SettingsTable::nearest(std::string_view flag) const {
  std::vector<std::string_view> flags;
  for (const Setting& row : rows_) flags.push_back(row.flag);
  const std::string_view best = nearest_word(flag, flags);
  return best.empty() ? "see --help" : "did you mean --" + std::string{best} + "?";
}

Result<> SettingsTable::read_environment(const char* const* environment) {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry{*environment};
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == entry.size()) continue;
    const auto row = std::ranges::find(rows_, entry.substr(0, equals), &Setting::environment);
    if (row == rows_.end()) continue;
    std::string_view text = entry.substr(equals + 1);
    if (const auto* list = std::get_if<setting::List>(&row->target)) {
      list->into->clear();
      while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view part = text.substr(0, comma);
        if (!part.empty() && !store(row->target, part)) return bad_value(*row, std::string{row->environment}, part);
        text.remove_prefix(std::min(comma + 1, text.size()));
      }
    } else if (!store(row->target, text)) {
      return bad_value(*row, std::string{row->environment}, text);
    }
  }
  return {};
}

/// The state of reading arguments.
struct SettingsTable::Reading {
  std::span<const char* const> left;
  std::vector<const Setting*> lists_given{};
  std::vector<std::string> given{};
};

/// Stores `text`. Without it, a switch becomes true, a choice takes its word `alone`, any other row the next argument.
Result<> SettingsTable::take(Reading& reading, const Setting& row, const std::string& where,
                             std::optional<std::string_view> text) {
  if (!text && std::holds_alternative<setting::Switch>(row.target)) text = "true";
  const auto* choice = std::get_if<setting::Choice>(&row.target);
  if (!text && choice != nullptr && !choice->alone.empty()) text = choice->alone;
  if (!text) {
    if (reading.left.empty()) {
      return fail(Errc::invalid_field, where + " needs a value: " + expectation(row.target), where);
    }
    text = reading.left.front();
    reading.left = reading.left.subspan(1);
  }
  if (const auto* list = std::get_if<setting::List>(&row.target);
      list != nullptr && std::ranges::count(reading.lists_given, &row) == 0) {
    list->into->clear();
    reading.lists_given.push_back(&row);
  }
  if (!store(row.target, *text)) return bad_value(row, where, *text);
  return {};
}

Result<> SettingsTable::read_long(Reading& reading, std::string_view argument) const {
  const std::size_t equals = argument.find('=');
  const std::string_view flag = argument.substr(0, equals);
  std::optional<std::string_view> text;
  if (equals != std::string_view::npos) text = argument.substr(equals + 1);
  const Setting* row = find(flag);
  if (row == nullptr && flag.starts_with("no-") && !text) {
    row = find(flag.substr(3));
    if (row != nullptr && !std::holds_alternative<setting::Switch>(row->target)) row = nullptr;
    text = "false";
  }
  const std::string where = "--" + std::string{flag};
  if (row == nullptr) return fail(Errc::invalid_field, "unknown flag " + where + ": " + nearest(flag), where);
  reading.given.push_back(where);
  return take(reading, *row, where, text);
}

Result<> SettingsTable::read_letters(Reading& reading, std::string_view letters) const {
  while (!letters.empty()) {
    const std::string where{'-', letters.front()};
    const auto row = std::ranges::find(rows_, letters.front(), &Setting::letter);
    letters.remove_prefix(1);
    if (row == rows_.end()) return fail(Errc::invalid_field, "unknown flag " + where + ": see --help", where);
    reading.given.push_back("--" + std::string{row->flag});
    // A flag with a value takes the rest of the word, if there is any.
    std::optional<std::string_view> text;
    if (setting::takes_next_argument(row->target) && !letters.empty()) {
      text = letters.starts_with('=') ? letters.substr(1) : letters;
      letters = {};
    }
    SKIFF_TRY_VOID(take(reading, *row, where, text));
  }
  return {};
}

Result<SettingsTable::Arguments> SettingsTable::read_arguments(std::span<const char* const> arguments, Words words,
                                                               std::size_t most) {
  Arguments result;
  Reading reading{.left = arguments};
  while (!reading.left.empty()) {
    const std::string_view argument{reading.left.front()};
    result.separated = argument == "--";
    const bool is_word = argument.size() < 2 || argument.front() != '-';
    if (result.separated || (is_word && result.words.size() == most)) {
      const auto rest = reading.left.subspan(result.separated ? 1 : 0);
      result.rest.assign(rest.begin(), rest.end());
      break;
    }
    reading.left = reading.left.subspan(1);
    if (argument == "--help" || argument == "-h") {
      result.help = true;
      return result;
    }
    Result<> read;
    if (argument.starts_with("--")) {
      read = read_long(reading, argument.substr(2));
    } else if (words == Words::collected) {
      if (is_word) {
        result.words.emplace_back(argument);
      } else {
        read = read_letters(reading, argument.substr(1));
      }
    } else {
      return fail(Errc::invalid_field,
                  "unexpected argument \"" + std::string{argument} + "\" (a workload stands after --)",
                  std::string{argument});
    }
    if (!read) return std::unexpected{std::move(read.error())};
  }
  result.given = std::move(reading.given);
  return result;
}

Result<bool> SettingsTable::set(std::string_view flag, std::span<const std::string> values, const std::string& where) {
  const Setting* row = find(flag);
  if (row == nullptr) return false;
  const auto* list = std::get_if<setting::List>(&row->target);
  if (list != nullptr) list->into->clear();
  if (list == nullptr && values.size() != 1) {
    return fail(Errc::invalid_field, where + ": expected " + expectation(row->target) + ", one value", where);
  }
  for (const std::string& value : values) {
    if (!store(row->target, value)) return bad_value(*row, where, value);
  }
  return true;
}

std::string SettingsTable::help(std::size_t width) const {
  constexpr std::size_t kColumn = 32;
  width = std::clamp<std::size_t>(width, 40, 200);
  // On a narrow terminal the text goes below its flag.
  const std::size_t indent = width < 80 ? 6 : kColumn;
  std::string out;
  std::string_view group;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Setting& row = rows_[i];
    if (row.group != group) {
      group = row.group;
      out += (out.empty() ? "" : "\n") + std::string{group} + ":\n";
    }
    const bool is_switch = std::holds_alternative<setting::Switch>(row.target);
    std::string head = "  ";
    if (row.letter != 0) head += std::string{'-', row.letter} + ", ";
    head += row.flag.empty() ? std::string{row.environment} : "--" + std::string{row.flag};
    const bool may_stand_alone = !is_switch && !setting::takes_next_argument(row.target);
    if (may_stand_alone) head += "[=" + std::string{row.value} + "]";
    if (!row.flag.empty() && !is_switch && !may_stand_alone) head += " " + std::string{row.value};

    std::string text{row.help};
    std::vector<std::string> notes;
    if (std::holds_alternative<setting::List>(row.target)) notes.emplace_back("repeatable");
    if (!defaults_[i].empty() && !is_switch) notes.push_back("default " + defaults_[i]);
    if (!row.flag.empty() && !row.environment.empty()) notes.emplace_back(row.environment);
    if (!notes.empty()) text += " [" + joined(notes, "; ") + "]";

    out += head;
    std::size_t column = head.size();
    if (column + 2 > indent) {
      out += '\n';
      column = 0;
    }
    for (std::string_view rest = text; !rest.empty();) {
      out.append(indent - column, ' ');
      const std::size_t room = width - indent;
      std::size_t cut = rest.size();
      if (cut > room) {
        cut = rest.rfind(' ', room);
        if (cut == std::string_view::npos || cut == 0) cut = std::min(rest.find(' '), rest.size());
      }
      out += rest.substr(0, cut);
      out += '\n';
      rest.remove_prefix(std::min(cut + 1, rest.size()));
      column = 0;
    }
  }
  return out;
}

std::string SettingsTable::markdown() const {
  const auto cell = [](std::string_view text) {
    std::string escaped;
    for (const char c : text) escaped += c == '|' ? std::string{"\\|"} : std::string{c};
    return escaped;
  };
  const auto code = [&](std::string_view text) { return text.empty() ? std::string{} : "`" + cell(text) + "`"; };
  std::string out;
  std::string_view group;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Setting& row = rows_[i];
    if (row.group != group) {
      group = row.group;
      out += (out.empty() ? "" : "\n") + std::string{"## "} + std::string{group} +
             "\n\n| Flag | Variable | Value | Default | What it does |\n|---|---|---|---|---|\n";
    }
    const bool is_list = std::holds_alternative<setting::List>(row.target);
    const bool is_text = is_list || std::holds_alternative<setting::Text>(row.target);
    out +=
        "| " + (row.flag.empty() ? std::string{} : code("--" + std::string{row.flag})) + " | " + code(row.environment);
    out += " | " + (is_text ? code(row.value) : cell(expectation(row.target))) + (is_list ? ", repeatable" : "");
    out +=
        " | " + (row.shown_default.empty() ? code(defaults_[i]) : cell(defaults_[i])) + " | " + cell(row.help) + " |\n";
  }
  return out;
}

}  // namespace skiff
