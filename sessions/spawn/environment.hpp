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

/// Variables by name, in order.
using Variables = std::map<std::string, std::string>;
using EnvironmentChange = std::map<std::string, std::optional<std::string>>;  ///< absent value: remove the variable
using SecretEnvironment = std::map<std::string, std::string>;                 ///< never listed, logged or echoed

/// "NAME=value" strings behind one another, each ended by a NUL, as a new process finds them (environ(7)): one piece of
/// memory however many there are.
class EnvironmentBlock {
 public:
  EnvironmentBlock() = default;
  EnvironmentBlock(std::initializer_list<std::string_view> strings) {
    for (const std::string_view one : strings) add(one);
  }

  /// Makes room, for `bytes` with their NULs.
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  /// What stands behind a NUL is left out, as execve(2) would.
  void add(std::string_view string);
  void add(std::string_view name, std::string_view value);

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  /// Whether one of the strings is what `is_wanted` says; it is asked until then.
  template <class Predicate>
  [[nodiscard]] bool any_of(Predicate is_wanted) const {
    for (std::string_view rest = bytes_; !rest.empty();) {
      const std::size_t end = rest.find('\0');
      if (is_wanted(rest.substr(0, end))) return true;
      rest.remove_prefix(end + 1);
    }
    return false;
  }
  /// Into this block, and a null pointer behind them, as execve(2) takes them.
  [[nodiscard]] std::vector<const char*> pointers() const;

 private:
  std::string bytes_;
  std::size_t count_ = 0;
};

/// The environment of one command while it is put together. Names and values are not copied: they must live as long,
/// but for what is `keep`t.
class Environment {
 public:
  Environment() = default;
  explicit Environment(const Variables& variables);
  Environment(Environment&&) = default;  // NOLINT(performance-noexcept-move-constructor): a deque's allocates
  Environment& operator=(Environment&&) = default;
  // A copy would refer to what the other one keeps.
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() = default;

  void set(std::string_view name, std::string_view value);
  void keep(std::string_view name, std::string value);
  void erase(std::string_view name);
  void erase_if(const std::function<bool(std::string_view name)>& is_unwanted);
  /// Empty when it isn't set.
  [[nodiscard]] std::string_view get(std::string_view name) const noexcept;
  [[nodiscard]] bool contains(std::string_view name) const noexcept;

  /// Sets and removes what `change` says.
  void apply(const EnvironmentChange& change);
  void apply(const SecretEnvironment& secrets);

  /// Adds what every command finds set, where it is not set yet or empty: HOME USER LOGNAME SHELL PATH LANG, and TERM
  /// on a terminal.
  void complete(const Credentials& user, bool switched_user, std::string_view shell, bool terminal);

  [[nodiscard]] Variables variables() const;
  /// By name.
  [[nodiscard]] EnvironmentBlock block() const;

 private:
  struct Variable {
    std::string_view name;
    std::string_view value;
  };
  [[nodiscard]] std::vector<Variable>::const_iterator place(std::string_view name) const noexcept;

  std::vector<Variable> variables_;  ///< by name
  std::deque<std::string> kept_;
};

/// The agent's own environment minus `SKIFF_*` and minus the names that match one of `deny` (`*` stands for any text).
[[nodiscard]] Variables inheritable_environment(const std::vector<std::string>& deny);

/// True for a name that can stand in an environment: not empty, no '=', no NUL.
[[nodiscard]] bool is_valid_variable(std::string_view name) noexcept;

}  // namespace skiff::sessions
