#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "sessions/spawn/environment.hpp"

namespace skiff::sessions {

/// The format that a shell prints and reads back.
enum class Dialect : std::uint8_t {
  posix,  ///< dash, busybox ash and other POSIX shells
  bash,
};

using Names = std::set<std::string, std::less<>>;

/// The shell state that a command of a stateful session leaves to the next (docs/stateful.md), parsed so that single
/// variables can be left out and restored.
class ShellSnapshot {
 public:
  /// The end of a dump from a shell that ended while it read the previous snapshot.
  static constexpr std::string_view kReading = "#reading\n";

  /// Parses the dump of a command's shell (see `ShellScript`). Empty when the shell did not finish the dump.
  [[nodiscard]] static std::optional<ShellSnapshot> read(std::string_view dump);

  [[nodiscard]] Dialect dialect() const noexcept { return dialect_; }
  /// The absolute working directory; empty when the shell did not know it.
  [[nodiscard]] const std::string& cwd() const noexcept { return cwd_; }
  /// True when the command ended in the directory in which it started.
  [[nodiscard]] bool stayed() const noexcept { return stayed_; }
  /// bash options that the script sets after reading the snapshot, because they change how text is parsed.
  [[nodiscard]] bool expand_aliases() const noexcept { return expand_aliases_; }
  [[nodiscard]] bool extglob() const noexcept { return extglob_; }

  /// Restores the variables `names`, which were given to one command only, to their values in `before`. `before` is
  /// null for a session without a snapshot; the session's environment then decides about such a name.
  void put_back(const Names& names, const ShellSnapshot* before);
  void keep_cwd(std::string cwd) { cwd_ = std::move(cwd); }

  /// The script that the next command's shell sources (`.`), without the variables in `names`. Its first line closes
  /// `descriptor`.
  [[nodiscard]] std::string script(const Names& names, int descriptor) const;

  /// Removes from a session's environment the variables that its commands have unset or do not export, except `names`.
  void restrict(Environment& environment, const Names& names) const;
  [[nodiscard]] bool exports(std::string_view name) const;
  /// Sets the exported variables, for a command that needs no shell.
  void apply_exported(Environment& environment) const;

 private:
  struct Variable {
    std::string line;                       ///< as the shell printed it: "NAME=word", or "declare -x NAME=word"
    std::string attributes = {};            ///< bash: a line to read after `line`; empty: none
    std::size_t value = std::string::npos;  ///< position of the word in `line`; npos: no value
    bool exported = false;
    bool readonly = false;  ///< posix only; bash declares it in the line
  };
  class Reader;

  void append_bash(std::string& text, const Names& names) const;
  void append_posix(std::string& text, const Names& names) const;

  Dialect dialect_ = Dialect::posix;
  std::string cwd_;
  std::string umask_;
  std::map<std::string, Variable, std::less<>> variables_;
  Names untouched_;      ///< names given to every command so far, so neither saved nor known to be unset
  std::string aliases_;  ///< lines that define the aliases
  std::string options_on_, options_off_;  ///< bash: shopt names, each with a space before it
  std::string functions_;                 ///< bash: definitions, then their attributes
  bool knows_functions_ = false;
  bool expand_aliases_ = false;
  bool extglob_ = false;
  bool stayed_ = false;
};

}  // namespace skiff::sessions
