#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/finally.hpp"
#include "base/id.hpp"
#include "container/agent/answer.hpp"
#include "container/agent/copy/copy.hpp"
#include "container/agent/copy/left_out.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/session_flag.hpp"
#include "container/cli/output/failures.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/printable.hpp"
#include "container/cli/output/standard_input.hpp"
#include "container/cli/output/terminal.hpp"
#include "protocol/http/target.hpp"

namespace skiff::container {
namespace {

/// NAME:PATH. A path without a colon, or with a slash before it, is local.
struct Remote {
  std::string name;
  std::string path;
};

std::optional<Remote> remote_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 || text.find('/') < colon) return std::nullopt;
  const std::string path = text.substr(colon + 1);
  return Remote{text.substr(0, colon), path.empty() ? "." : path};
}

/// The destination of several sources as a directory. "NAME:" is the sandbox's directory; a slash behind it would mean
/// the container's root.
std::string as_directory(const std::string& to) {
  if (to.ends_with('/')) return to;
  return to + (remote_of(to) && to.find(':') + 1 == to.size() ? "./" : "/");
}

constexpr std::size_t kArchiveBlock = std::size_t{256} << 10U;

/// Redraws one line some times a second, and at the end.
class Meter {
 public:
  Meter() = default;
  ~Meter() {
    if (drawn_) write("\r\033[K");
  }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  void show(std::uint64_t bytes, std::optional<std::uint64_t> total) {
    const auto now = std::chrono::steady_clock::now();
    const bool is_all = total && bytes >= *total;
    if (!is_all && now - last_ < std::chrono::milliseconds{100}) return;
    last_ = now;
    drawn_ = true;
    const double seconds = std::chrono::duration<double>(now - began_).count();
    const auto rate = static_cast<unsigned long long>(seconds > 0 ? static_cast<double>(bytes) / seconds : 0);
    std::string line = "\r\033[K" + format_size(bytes);
    if (total) {
      // Files that grow meanwhile make it more than was counted.
      const std::uint64_t percent = is_all ? 100 : bytes * 100 / *total;
      line += " of " + format_size(std::max(bytes, *total)) + "  " + std::to_string(percent) + "%";
    }
    write(line + "  " + format_size(rate) + "/s");
  }

 private:
  static void write(const std::string& text) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  }

  bool drawn_ = false;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = began_;
};

/// Adds the summary of one copy.
void add(TarSummary& all, TarSummary one) {
  all.entries += one.entries;
  all.bytes += one.bytes;
  all.skipped += one.skipped;
  all.left_out += one.left_out;
  for (std::string& link : one.shown) all.shown.push_back(std::move(link));
  all.missing += one.missing;
  for (std::string& name : one.missing_shown) all.missing_shown.push_back(std::move(name));
}

void tell(std::uint64_t number, const char* what, const std::vector<std::string>& shown) {
  if (number == 0) return;
  std::string text = std::to_string(number) + what;
  for (const std::string& one : shown) text += "\n" + printable(one);
  if (shown.size() < number) text += "\n...";
  say(text);
}

/// Reports the files that are not in a copy. True if they should have been.
bool tell_left_out(const TarSummary& all) {
  if (all.skipped > 0) say(std::to_string(all.skipped) + " sockets, pipes or devices were left out");
  tell(all.left_out, " links were left out, because they lead outside the copy:", all.shown);
  tell(all.missing, " files or directories were left out or are not whole:", all.missing_shown);
  return all.left_out > 0 || all.missing > 0;
}

/// The name that means a tar archive on stdin or stdout.
constexpr const char* kStream = "-";

/// Idle time of a session of skiff's own, after which it is removed if skiff was killed.
constexpr std::chrono::milliseconds kUploadIdleTime = std::chrono::hours{1};

/// One connection for all copies of a sandbox, and the session that its paths use. The connection must be closed at the
/// end: it would keep the reactor running.
class Agents {
 public:
  Agents(Context* context, std::string session) : context_{context}, session_{std::move(session)} {}

  Task<Result<AgentClient*>> of(std::string name) {
    if (!agent_ || name != name_) {
      co_await close();
      SKIFF_CO_TRY(agent_, co_await context_->agent(name));
      name_ = std::move(name);
    }
    co_return agent_.get();
  }

  /// The session to use for a path. docker and kubectl take paths from the root of the container, but a session reaches
  /// only its roots. So a path that leads elsewhere uses a session of skiff's own that has the container's root, too:
  /// it reaches the same files as a command in the sandbox. If there is no container, or that session cannot be
  /// created, the user's session is used, and its error says why the path is refused.
  Task<std::string> session_for(std::string path) {
    if (session_ != kDefaultSession || !path.starts_with('/')) co_return session_;
    auto driver = co_await context_->driver();
    if (!driver || (*driver)->name() == "local" || !co_await leads_elsewhere(std::move(path))) co_return session_;
    if (!whole_.empty()) co_return whole_;
    whole_ = new_id("cp");  // chosen here, so that `close` removes the session even if the answer is lost
    nlohmann::json request{{"id", whole_}, {"idle_timeout_ms", kUploadIdleTime.count()}};
    request["extra_roots"].push_back({{"path", "/"}, {"access", "rw"}});
    std::string body = request.dump();
    auto made = co_await agent_->post("/v1/sessions", std::move(body));
    if (!made) co_await close();
    co_return whole_.empty() ? session_ : whole_;
  }

  /// Removes skiff's own session. All copies have ended.
  Task<> close() {
    if (whole_.empty()) co_return;
    agent_->http().close();
    (void)co_await agent_->remove("/v1/sessions/" + protocol::percent_encode(std::exchange(whole_, {})));
  }

 private:
  Task<bool> leads_elsewhere(std::string path) {
    auto answer = co_await agent_->get(files_of(session_) + ":stat?path=" + protocol::percent_encode(path));
    if (!answer) co_return false;
    AgentAnswer page{*answer, "its answer"};
    const nlohmann::json& items = page.list("items");
    if (items.size() != 1) co_return false;
    AgentAnswer item{items.front(), "an item of its list"};
    co_return find_code(item.text("error/code")) == Errc::path_escapes_root;
  }

  Context* context_;
  std::string session_;
  std::string name_ = {};
  std::string whole_ = {};  ///< skiff's own session, if there is one
  std::unique_ptr<AgentClient> agent_ = {};
};

class Copy final : public Invocation {
 public:
  std::vector<Setting> rows() override { return {session_.row()}; }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    const std::string to = std::move(arguments.words.back());
    arguments.words.pop_back();
    const std::vector<std::string>& sources = arguments.words;
    if (to.empty()) co_return fail(Errc::invalid_field, "the destination is empty: write . for this directory");
    const auto there = remote_of(to);
    for (const std::string& source : sources) {
      if (remote_of(source).has_value() != there.has_value()) continue;
      co_return fail(Errc::invalid_field,
                     "exactly one side must be NAME:PATH, the source or the destination; write ./a:b for a local file "
                     "of that name");
    }
    const bool is_stream = to == kStream || std::ranges::count(sources, kStream) > 0;
    if (is_stream && sources.size() > 1) {
      co_return fail(Errc::invalid_field, "- is a whole archive: it takes one other path");
    }
    Agents agents{&context, session_.session()};
    auto work = [&](this auto) -> Task<Result<int>> {
      if (to == kStream) co_return co_await print_archive(&agents, *remote_of(sources.front()));
      if (is_stream) co_return co_await read_archive(&agents, *there);
      co_return co_await copy_all(&context, &agents, sources, to);
    };
    co_return co_await finally(std::move(work), [&] { return agents.close(); });
  }

 private:
  static Task<Result<int>> copy_all(Context* context, Agents* agents, std::vector<std::string> sources,
                                    std::string to) {
    Failures failures{"cp", "copied", sources.size()};
    TarSummary all;
    for (const std::string& source : sources) {
      // If there are several sources, the destination is a directory.
      const std::string into = sources.size() > 1 ? as_directory(to) : to;
      auto copied = co_await copy(agents, source, into, shows_progress() && !context->options().quiet);
      if (copied) {
        add(all, std::move(*copied));
      } else {
        failures.add(source, std::move(copied.error()));
      }
    }
    const bool is_incomplete = tell_left_out(all);
    const std::string& form = context->options().output;
    if (form == "json" || form == "yaml") {
      const nlohmann::json value{{"entries", all.entries},
                                 {"bytes", all.bytes},
                                 {"skipped", all.skipped},
                                 {"links_left_out", all.left_out},
                                 {"left_out", all.missing}};
      SKIFF_CO_TRY_VOID(context->show(value, "", ""));
    }
    auto status = std::move(failures).status();
    if (status && is_incomplete) co_return 1;
    co_return status;
  }

  static Task<Result<TarSummary>> copy(Agents* agents, std::string from, std::string to, bool shows) {
    const auto source = remote_of(from);
    const auto target = remote_of(to);
    SKIFF_CO_TRY(auto agent, co_await agents->of(source ? source->name : target->name));
    std::string session = co_await agents->session_for(source ? source->path : target->path);
    Meter meter;
    CopyProgress progress;
    if (shows) {
      progress = [&meter](std::uint64_t bytes, std::optional<std::uint64_t> total) { meter.show(bytes, total); };
    }
    Task<Result<TarSummary>> copying =
        source ? copy_out(agent, source->path, to, std::move(progress), std::move(session))
               : copy_in(agent, from, target->path, std::move(progress), std::move(session));
    auto copied = co_await std::move(copying);
    if (!copied) co_return std::unexpected{explained(std::move(copied.error()), source ? *source : *target, !!source)};
    co_return copied;
  }

  /// Explains a path that is outside of the session's roots.
  static Error explained(Error error, const Remote& remote, bool is_out) {
    if (error.code != Errc::path_escapes_root || !remote.path.starts_with('/')) return error;
    error.message += "; " + remote.name + ":PATH without a / begins at the sandbox's directory, and `skiff exec ";
    error.message += is_out ? remote.name + " cat " + remote.path + " > FILE` reads any file"
                            : "-i " + remote.name + " sh -c 'cat > " + remote.path + "' < FILE` writes any file";
    return error;
  }

  static Task<Result<int>> print_archive(Agents* agents, Remote from) {
    SKIFF_CO_TRY(auto agent, co_await agents->of(from.name));
    const std::string session = co_await agents->session_for(from.path);
    auto head = co_await agent->open(files_of(session) + ":archive?path=" + protocol::percent_encode(from.path));
    if (!head) co_return std::unexpected{explained(std::move(head.error()), from, true)};
    std::string block(kArchiveBlock, '\0');
    for (;;) {
      SKIFF_CO_TRY(auto got, co_await agent->http().read_some(block));
      if (got == 0) break;
      SKIFF_CO_TRY_VOID(print({block.data(), got}));
    }
    TarSummary summary;
    note_left_out(agent->http().trailers(), summary);
    co_return tell_left_out(summary) ? 1 : 0;
  }

  static Task<Result<int>> read_archive(Agents* agents, Remote to) {
    SKIFF_CO_TRY(auto input, standard_input());
    SKIFF_CO_TRY(auto agent, co_await agents->of(to.name));
    const std::string session = co_await agents->session_for(to.path);
    std::string path = files_of(session) + ":archive?path=" + protocol::percent_encode(to.path);
    auto sent = co_await upload(agent, std::move(path), std::move(input), {}, {});
    if (!sent) co_return std::unexpected{explained(std::move(sent.error()), to, false)};
    co_return 0;
  }

  SessionFlag session_;
};

}  // namespace

Command cp_command() {
  return {
      .name = "cp",
      .group = "Files",
      .summary = "copy files and directories to or from a sandbox",
      .text =
          "The last PATH is the destination. Like cp -r, skiff copies into the destination if it is a directory,\n"
          "and to that name otherwise; DIR/. means the contents of DIR. Several sources are copied into a directory,\n"
          "which skiff creates if necessary. In a sandbox, PATH is relative to its directory, or with a leading / to\n"
          "the root of its container, which the local driver does not have. skiff keeps modes, times, links and hard\n"
          "links. A destination that is a link is followed. skiff leaves out files that cannot be read and, from a\n"
          "sandbox, links that lead outside the copy. It reports them, and files that shrank while they were copied,\n"
          "and exits with 1 then. It also reports how many sockets, pipes and devices it leaves out. - means a tar\n"
          "archive: it is read from stdin, or written to stdout.\n"
          "\n"
          "  skiff cp src demo:work\n"
          "  skiff cp demo:work/result.json .\n"
          "  skiff cp a.txt b.txt demo:inputs\n"
          "  skiff cp demo:/etc/os-release .\n"
          "  skiff cp demo:work - | tar x",
      .words = {{.name = "FROM", .kind = WordKind::any_path},
                {.name = "PATH", .kind = WordKind::any_path, .repeated = true}},
      .make = &create_invocation<Copy>};
}

}  // namespace skiff::container
