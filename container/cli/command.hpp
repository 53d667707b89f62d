#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "base/task.hpp"

/// The command line as a table: parsing, help and completion come from it.
namespace skiff::container {

class Context;

/// The exit status of skiff when it failed itself, as docker has it.
inline constexpr int kFailed = 125;

/// What a word of a command line names, for completion.
enum class WordKind : std::uint8_t { sandbox, command_id, remote_path, any_path, text, shell, command };

struct Word {
  std::string_view name;  ///< as the help shows it: NAME
  WordKind kind = WordKind::text;
  bool optional = false;
  bool repeated = false;  ///< the last one only
};

/// Whether a command takes what follows `--`. Where it is required, `--` may be left out: the first word that is too
/// many begins it.
enum class Rest : std::uint8_t { none, optional, required };

/// One run of a subcommand: it holds the values of its flags.
class Invocation {
 public:
  virtual ~Invocation() = default;
  /// Rows point into this object. Their flags differ from those of all commands (container/cli/options.hpp).
  [[nodiscard]] virtual std::vector<Setting> rows() { return {}; }
  /// Gives the exit status. `arguments` has as many words as the command says.
  [[nodiscard]] virtual Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) = 0;
};

struct Command {
  std::string_view name;        ///< `up`, or two words: `files ls`
  std::string_view group = {};  ///< empty: not in the help
  std::string_view summary;     ///< one line, small letters, no full stop
  std::string_view text = {};   ///< what else to know, with examples
  std::vector<Word> words = {};
  std::vector<std::string_view> aliases = {};  ///< other names, as kubectl and docker have them; of one word
  Rest rest = Rest::none;
  bool traces_requests = false;  ///< a trace each, and none of its own run
  bool makes_sandboxes = false;  ///< or looks whether they could be: what the config file says of new ones counts here
  std::unique_ptr<Invocation> (*make)();
};

/// All of them, in the order of the help.
[[nodiscard]] const std::vector<Command>& commands();

/// "NAME [PATH...] -- COMMAND [ARG...]"
[[nodiscard]] std::string usage(const Command& command);

/// A row of the table: `Command up() { return command_of<Up>({...}); }`
template <class T>
std::unique_ptr<Invocation> make_invocation() {
  return std::make_unique<T>();
}

}  // namespace skiff::container
