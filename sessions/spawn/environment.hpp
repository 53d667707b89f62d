#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skiff::sessions {

struct Credentials;

/// Variables, sorted by name.
using Variables = std::map<std::string, std::string>;
using EnvironmentChange = std::map<std::string, std::optional<std::string>>;  ///< absent value: remove the variable
using SecretEnvironment = std::map<std::string, std::string>;                 ///< never listed, logged or echoed

/// Consecutive "NAME=value" strings, each ended by a NUL, as a new process gets them (environ(7)), in a single block of
/// memory.
class EnvironmentBlock {
 public:
  EnvironmentBlock() = default;
  EnvironmentBlock(std::initializer_list<std::string_view> strings) {
    for (const std::string_view one : strings) add(one);
  }

  /// Reserves room for `bytes`, including the NULs.
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  /// Adds a string up to its first NUL, where execve(2) would end it, too.
  void add(std::string_view string);
  void add(std::string_view name, std::string_view value);

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  /// Whether `is_wanted` returns true for one of the strings.
  template <class Predicate>
  [[nodiscard]] bool any_of(Predicate is_wanted) const {
    for (std::string_view rest = bytes_; !rest.empty();) {
      const std::size_t end = rest.find('\0');
      if (is_wanted(rest.substr(0, end))) return true;
      rest.remove_prefix(end + 1);
    }
    return false;
  }
  /// Pointers to the strings and a final null, as for execve(2). They point into this block.
  [[nodiscard]] std::vector<const char*> pointers() const;

 private:
  std::string bytes_;
  std::size_t count_ = 0;
};

/// Builds the environment of one command. It refers to names and values without copying them, except the values given
/// to `keep`; they must outlive it.
class Environment {
 public:
  Environment() = default;
  explicit Environment(const Variables& variables);
  Environment(Environment&&) = default;  // NOLINT(performance-noexcept-move-constructor): moving a deque allocates
  Environment& operator=(Environment&&) = default;
  // A copy would refer to the values kept by the original.
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() = default;

  void set(std::string_view name, std::string_view value);
  void keep(std::string_view name, std::string value);
  void erase(std::string_view name);
  void erase_if(const std::function<bool(std::string_view name)>& is_unwanted);
  /// Empty when the variable is not set.
  [[nodiscard]] std::string_view get(std::string_view name) const noexcept;
  [[nodiscard]] bool contains(std::string_view name) const noexcept;

  /// Sets and removes the variables of `change`.
  void apply(const EnvironmentChange& change);
  void apply(const SecretEnvironment& secrets);

  /// Sets HOME, USER, LOGNAME, SHELL, PATH, LANG and, on a terminal, TERM if they are unset or empty. With
  /// `switched_user` it always sets HOME, USER and LOGNAME.
  void complete(const Credentials& user, bool switched_user, std::string_view shell, bool terminal);

  [[nodiscard]] Variables variables() const;
  /// The variables as a block, sorted by name.
  [[nodiscard]] EnvironmentBlock block() const;

 private:
  struct Variable {
    std::string_view name;
    std::string_view value;
  };
  [[nodiscard]] std::vector<Variable>::const_iterator place(std::string_view name) const noexcept;

  std::vector<Variable> variables_;  ///< sorted by name
  std::deque<std::string> kept_;
};

/// The agent's own environment without `SKIFF_*` and without the names that match a pattern of `deny` (fnmatch(3)).
[[nodiscard]] Variables inheritable_environment(const std::vector<std::string>& deny);

/// True for a valid name of a variable: not empty, no '=', no NUL.
[[nodiscard]] bool is_valid_variable(std::string_view name) noexcept;

}  // namespace skiff::sessions
