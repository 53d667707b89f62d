#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "base/settings/settings.hpp"

/// The command line as a table: parsing, help and completion come from it.
namespace skiff::container {

class Context;

/// The exit status when skiff itself failed, as in docker.
inline constexpr int kFailed = 125;

/// The kind of a word of a command line, for completion.
enum class WordKind : std::uint8_t { sandbox, command_id, remote_path, any_path, text, shell, command, mcp_client };

struct Word {
  std::string_view name;  ///< name in the help: NAME
  WordKind kind = WordKind::text;
  bool optional = false;
  bool repeated = false;  ///< only for the last word
};

/// Whether a command takes a command line after `--`. If it is required, `--` may be omitted: the first word after the
/// command's own words begins it.
enum class Rest : std::uint8_t { none, optional, required };

/// One run of a subcommand, with the values of its flags.
class Invocation {
 public:
  virtual ~Invocation() = default;
  /// The rows of its flags, which point into this object. The flags differ from those of every command
  /// (container/cli/parse/options.hpp).
  [[nodiscard]] virtual std::vector<Setting> rows() { return {}; }
  /// Runs the command and returns the exit status. The number of words in `arguments` was checked.
  [[nodiscard]] virtual Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) = 0;
};

struct Command {
  std::string_view name;        ///< `up`, or two words: `files ls`
  std::string_view group = {};  ///< heading in the help; empty: the command is not listed
  std::string_view summary;     ///< one line in lower case, without a full stop
  std::string_view text = {};   ///< further help, with examples
  std::vector<Word> words = {};
  std::vector<std::string_view> aliases = {};  ///< other names, from kubectl and docker; one word each
  Rest rest = Rest::none;
  bool traces_requests = false;  ///< each request is a trace; the run itself is not traced
  bool makes_sandboxes = false;  ///< creates or examines new sandboxes, so the config file's defaults for them apply
  std::unique_ptr<Invocation> (*make)();
};

/// All commands, in the order of the help.
[[nodiscard]] const std::vector<Command>& commands();

/// "NAME [PATH...] -- COMMAND [ARG...]"
[[nodiscard]] std::string usage(const Command& command);

/// A row of the table: `Command up() { return command_of<Up>({...}); }`
template <class T>
std::unique_ptr<Invocation> create_invocation() {
  return std::make_unique<T>();
}

}  // namespace skiff::container
