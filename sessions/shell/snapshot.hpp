#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "sessions/spawn/environment.hpp"

namespace skiff::sessions {

/// What a shell prints and reads again.
enum class Dialect : std::uint8_t {
  posix,  ///< dash, busybox ash and other shells of POSIX
  bash,
};

using Names = std::set<std::string, std::less<>>;

/// What one command of a stateful session leaves to the next (docs/stateful.md), taken apart so that single variables
/// can be left out and put back.
class ShellSnapshot {
 public:
  /// What a dump ends in when the shell ended while it read the snapshot before.
  static constexpr std::string_view kReading = "#reading\n";

  /// Takes over what a command's shell wrote (see `ShellScript`). Nothing when the shell did not come to its end.
  [[nodiscard]] static std::optional<ShellSnapshot> read(std::string_view dump);

  [[nodiscard]] Dialect dialect() const noexcept { return dialect_; }
  /// The working directory, absolute; empty when the shell could not tell.
  [[nodiscard]] const std::string& cwd() const noexcept { return cwd_; }
  /// The command ended in the directory that it was told to start in.
  [[nodiscard]] bool stayed() const noexcept { return stayed_; }
  /// bash: options that the script sets after the snapshot was read, because they change how text is read.
  [[nodiscard]] bool expand_aliases() const noexcept { return expand_aliases_; }
  [[nodiscard]] bool extglob() const noexcept { return extglob_; }

  /// Puts what `before` says about `names` in place of what this one does: they were given to one command only. Nothing
  /// stands for a session that had no snapshot yet; such a name stays as the session's environment has it.
  void put_back(const Names& names, const ShellSnapshot* before);
  void keep_cwd(std::string cwd) { cwd_ = std::move(cwd); }

  /// What the next command's shell reads (`.`), without the variables in `names`. Its first line closes `descriptor`.
  [[nodiscard]] std::string script(const Names& names, int descriptor) const;

  /// Removes from a session's environment the variables that its commands have unset or no longer export; not `names`.
  void restrict(Environment& environment, const Names& names) const;
  [[nodiscard]] bool exports(std::string_view name) const;
  /// Sets the exported variables, for a command that needs no shell.
  void apply_exported(Environment& environment) const;

 private:
  struct Variable {
    std::string line;                       ///< as the shell printed it: "NAME=word", or "declare -x NAME=word"
    std::string attributes = {};            ///< bash: a line to be read after it; empty: none
    std::size_t value = std::string::npos;  ///< where its word begins; npos: it has none
    bool exported = false;
    bool readonly = false;  ///< posix; bash says so in its line
  };
  class Reader;

  void append_bash(std::string& text, const Names& names) const;
  void append_posix(std::string& text, const Names& names) const;

  Dialect dialect_ = Dialect::posix;
  std::string cwd_;
  std::string umask_;
  std::map<std::string, Variable, std::less<>> variables_;
  Names untouched_;                       ///< neither known here nor unset: given to every command that ran so far
  std::string aliases_;                   ///< lines to be read again
  std::string options_on_, options_off_;  ///< bash: shopt names, each with a space before it
  std::string functions_;                 ///< bash: definitions, then their attributes
  bool knows_functions_ = false;
  bool expand_aliases_ = false;
  bool extglob_ = false;
  bool stayed_ = false;
};

}  // namespace skiff::sessions
