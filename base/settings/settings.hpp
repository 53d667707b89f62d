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

/// The target of a row of a settings table, with the range that it accepts. The value in the target when the table is
/// created is the default that the help shows.
namespace setting {

struct Switch {
  bool* into;
};
struct Text {
  std::string* into;
};
/// One of a few words. A word that ends with `=` accepts every text that begins with it.
struct Choice {
  std::string* into;
  std::vector<std::string_view> words;
  /// The value that the flag means without a value; a value must then follow a `=`. Empty: the flag needs a value.
  std::string_view alone = {};
};
/// Repeatable as a flag; a variable holds several values, separated by commas. A given list replaces the default.
struct List {
  std::vector<std::string>* into;
  std::vector<std::string_view> words = {};  ///< the only values that it may hold; empty: any text
};
struct Count {
  std::uint64_t* into;
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::int64_t>::max();
};
/// Bytes: a number, or a number with KiB, MiB, GiB (also K, M, G; always powers of 1024).
struct Size {
  std::uint64_t* into;
  std::uint64_t least = 0;
  std::uint64_t most = std::uint64_t{1} << 50;
};
/// Milliseconds: a number, or a number with ms, s, m, h, d.
struct Duration {
  std::chrono::milliseconds* into;
  std::chrono::milliseconds least{0};
  std::chrono::milliseconds most{std::chrono::days{365}};
};

using Target = std::variant<Switch, Text, Choice, List, Count, Size, Duration>;

/// Whether the argument that follows the flag may be its value.
[[nodiscard]] bool takes_next_argument(const Target& target) noexcept;

}  // namespace setting

/// One row of a settings table: everything about one setting.
struct Setting {
  std::string_view flag;              ///< without the dashes; empty: no flag
  std::string_view environment = {};  ///< name of the variable; empty: none
  setting::Target target;
  std::string_view value = {};  ///< placeholder of the value in the help: ADDR:PORT; empty for a switch
  std::string_view group = {};  ///< heading in the help, which appears once: rows of a group are put together
  std::string_view help = {};   ///< one or two sentences, no line breaks
  /// A text for a default that depends on where the program runs; otherwise the target's own value is shown.
  std::string_view shown_default = {};
  char letter = 0;  ///< -x as a short form of the flag; 0: none
};

/// The arguments that give the setting its present value; one for each value of a list, which may be none.
[[nodiscard]] std::vector<std::string> as_arguments(const Setting& row);

/// Returns the word of `known` that `typed` probably means; empty when none is near.
[[nodiscard]] std::string_view nearest_word(std::string_view typed, std::span<const std::string_view> known);

/// Reads settings from the environment and from arguments, and describes them. Flags override variables, variables
/// override defaults. Errors are `invalid_field` with `field` = the flag or variable. They quote the value, except for
/// a setting without a flag: secrets are given that way.
class SettingsTable {
 public:
  /// Rows point into an object that must outlive the table. Flags and variables must be unique.
  explicit SettingsTable(std::vector<Setting> rows);

  /// `environment` has the form of environ(7). An empty variable counts as absent. Unknown variables are ignored:
  /// Kubernetes sets SKIFF_PORT, SKIFF_SERVICE_HOST and more when a service is called skiff.
  [[nodiscard]] Result<> read_environment(const char* const* environment);

  /// Whether arguments that are not flags may stand before `--`.
  enum class Words : unsigned char { refused, collected };
  struct Arguments {
    bool help = false;                 ///< --help or -h was given
    std::vector<std::string> words{};  ///< arguments that are not flags
    std::vector<std::string> given{};  ///< flags that were given, as --flag or --no-flag
    bool separated = false;            ///< whether there was a `--`
    std::vector<std::string> rest{};   ///< arguments after `--`, or from the first word beyond `most` on
  };
  static constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();
  /// `arguments` without the program's name: --flag value, --flag=value, --switch, --no-switch, -f value, -fvalue, -ab,
  /// `--`; a `-` alone is a word. A repeated flag takes the last value; a list collects all. A word beyond `most` words
  /// begins the rest, as if it stood behind a `--`.
  [[nodiscard]] Result<Arguments> read_arguments(std::span<const char* const> arguments, Words words = Words::refused,
                                                 std::size_t most = kAnyNumber);

  /// Sets one setting, by its flag without dashes, to values from elsewhere, for example a file; a list takes several.
  /// `where` names the source in messages. Returns false when the table has no such setting.
  [[nodiscard]] Result<bool> set(std::string_view flag, std::span<const std::string> values, const std::string& where);

  /// Formats the help for a terminal `width` columns wide (clamped to 40..200).
  [[nodiscard]] std::string help(std::size_t width) const;
  /// Formats one table per group.
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
