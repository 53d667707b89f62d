#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"

namespace skiff {

/// What a row of a settings table writes to, with the range it accepts. The value found there when the table is made is
/// the default that the help shows.
namespace setting {

struct Switch {
  bool* into;
};
struct Text {
  std::string* into;
};
/// One of a few words; one that ends with `=` stands for every text that begins so.
struct Choice {
  std::string* into;
  std::vector<std::string_view> words;
  /// What the flag means without a value. It takes one only behind a `=` then. Empty: it needs a value.
  std::string_view alone = {};
};
/// Repeatable as a flag; one variable holds several, separated by commas. Giving it replaces the default.
struct List {
  std::vector<std::string>* into;
  std::vector<std::string_view> words = {};  ///< the only ones that it may hold; empty: any text
};
struct Count {
  std::uint64_t* into;
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::int64_t>::max();
};
/// Bytes: a number, or one with KiB, MiB, GiB (also K, M, G; always powers of 1024).
struct Size {
  std::uint64_t* into;
  std::uint64_t least = 0;
  std::uint64_t most = std::uint64_t{1} << 50;
};
/// Milliseconds: a number, or one with ms, s, m, h, d.
struct Duration {
  std::chrono::milliseconds* into;
  std::chrono::milliseconds least{0};
  std::chrono::milliseconds most{std::chrono::days{365}};
};

using Target = std::variant<Switch, Text, Choice, List, Count, Size, Duration>;

/// Whether the flag's value may be the argument that follows it.
[[nodiscard]] bool takes_next_argument(const Target& target) noexcept;

}  // namespace setting

/// One row of a settings table: everything there is to know about one setting.
struct Setting {
  std::string_view flag;              ///< without the dashes; empty: no flag
  std::string_view environment = {};  ///< name of the variable; empty: none
  setting::Target target;
  std::string_view value = {};  ///< what stands for the value in the help: ADDR:PORT; empty for a switch
  std::string_view group = {};  ///< heading in the help, which stands once: its rows are put together
  std::string_view help = {};   ///< one or two sentences, no line breaks
  /// For a default that depends on where the program runs; else the target's own value is shown.
  std::string_view shown_default = {};
  char letter = 0;  ///< -x as a short form of the flag; 0: none
};

/// The one of `known` that was probably meant by `typed`; empty when none is near.
[[nodiscard]] std::string_view nearest_word(std::string_view typed, std::span<const std::string_view> known);

/// Reads settings from the environment and from arguments, and describes them. Flags win over variables, variables over
/// defaults. Errors are `invalid_field` with `field` = the flag or variable; they hold the value except for a setting
/// that has no flag (which is how secrets are given).
class SettingsTable {
 public:
  /// Rows point into an object that outlives the table. Flags and variables must be unique.
  explicit SettingsTable(std::vector<Setting> rows);

  /// `environment` as environ(7). A variable that is empty counts as absent. Unknown ones are left alone: Kubernetes
  /// makes SKIFF_PORT, SKIFF_SERVICE_HOST and more when a service is called skiff.
  [[nodiscard]] Result<> read_environment(const char* const* environment);

  /// Whether arguments that are not flags may stand before `--`.
  enum class Words : unsigned char { refused, collected };
  struct Arguments {
    bool help = false;                 ///< --help or -h was given
    std::vector<std::string> words{};  ///< what is not a flag
    std::vector<std::string> given{};  ///< the flags that were there, as --flag or --no-flag
    bool separated = false;            ///< there was a `--`
    std::vector<std::string> rest{};   ///< what follows it, or what begins with one word too many
  };
  static constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();
  /// `arguments` without the program's name: --flag value, --flag=value, --switch, --no-switch, -f value, -fvalue, -ab,
  /// `--`; a `-` alone is a word. A flag that is given twice takes the last value, a list collects all. With `most`
  /// words before it, a further one begins the rest, as if it stood behind a `--`.
  [[nodiscard]] Result<Arguments> read_arguments(std::span<const char* const> arguments, Words words = Words::refused,
                                                 std::size_t most = kAnyNumber);

  /// Sets one setting, by its flag without dashes, to values from elsewhere, a file for example; several for a list.
  /// `where` names the place in messages. False: there is no such setting here.
  [[nodiscard]] Result<bool> set(std::string_view flag, std::span<const std::string> values, const std::string& where);

  /// For a terminal `width` columns wide (40..200 are used).
  [[nodiscard]] std::string help(std::size_t width) const;
  /// One table a group.
  [[nodiscard]] std::string markdown() const;

  [[nodiscard]] const std::vector<Setting>& rows() const noexcept { return rows_; }

 private:
  struct Reading;
  [[nodiscard]] Result<> read_long(Reading& reading, std::string_view argument) const;
  [[nodiscard]] Result<> read_letters(Reading& reading, std::string_view letters) const;
  [[nodiscard]] static Result<> take(Reading& reading, const Setting& row, const std::string& where,
                                     std::optional<std::string_view> text);
  [[nodiscard]] const Setting* find(std::string_view flag) const;
  [[nodiscard]] std::string nearest(std::string_view flag) const;

  std::vector<Setting> rows_;
  std::vector<std::string> defaults_;
};

}  // namespace skiff
