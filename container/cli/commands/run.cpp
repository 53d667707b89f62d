#include <algorithm>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/finally.hpp"
#include "base/id.hpp"
#include "container/cli/commands/cluster/manifest.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/command_flags.hpp"
#include "container/cli/flags/dry_run.hpp"
#include "container/cli/flags/spec_flags.hpp"
#include "container/cli/output/attached.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/terminal.hpp"
#include "container/sandbox/bring_up.hpp"
#include "container/sandbox/undo_unless.hpp"

namespace skiff::container {
namespace {

/// Idle time after which a sandbox ends by itself if its skiff was killed.
constexpr std::chrono::milliseconds kOrphanTime = std::chrono::minutes{5};

class Run final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    std::vector<Setting> rows = command_.rows();
    std::ranges::move(spec_.rows(), std::back_inserter(rows));
    rows.push_back({.flag = "keep",
                    .target = setting::Text{&keep_},
                    .value = "NAME",
                    .help = "Keep the sandbox afterwards, under this name."});
    rows.push_back({.flag = "name",
                    .target = setting::Text{&name_},
                    .value = "NAME",
                    .help = "The same as --keep, for users of docker; with --rm only a name."});
    rows.push_back({.flag = "rm",
                    .target = setting::Switch{&rm_},
                    .help = "Remove the sandbox afterwards, which is the default without --name, --keep or -d."});
    rows.push_back({.flag = "detach",
                    .target = setting::Switch{&detach_},
                    .help = "Leave the command running, print the name of its sandbox and keep the sandbox. With --rm "
                            "the sandbox ends by itself 5 minutes after the command (--idle-ttl).",
                    .letter = 'd'});
    rows.push_back(dry_run_.row("Only print the objects that would be created, as `skiff manifest` does."));
    return rows;
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto request, command_.request(std::move(arguments.rest)));
    SKIFF_CO_TRY_VOID(settle_names(arguments, request));
    const std::string& given = keep_.empty() ? name_ : keep_;
    const std::string name = given.empty() ? create_name("run-") : given;
    const bool is_kept = !rm_ && (!given.empty() || detach_);
    SKIFF_CO_TRY(auto joined, command_.attached(name));
    SKIFF_CO_TRY(auto spec, spec_.spec(name, context.options().owner, arguments.given));
    if (!arguments.words.empty()) spec.image = arguments.words.front();
    spec.is_one_shot = !is_kept;
    if (!is_kept && !spec.lease.idle_ttl) spec.lease.idle_ttl = kOrphanTime;
    if (dry_run_.asks_nobody()) co_return with_note(context, print_offline_manifest(context, std::move(spec)));
    context.set_image(spec.image);
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    if (dry_run_.is_wanted()) {
      auto printed = co_await print_manifest(&context, std::move(spec), false);
      co_return with_note(context, std::move(printed));
    }
    context.tell_notice(*driver);
    BringUp wanted{.spec = std::move(spec)};
    // Show the phases only on a terminal, so that stderr contains only the command's output.
    Progress progress = shows_progress() ? context.progress(name) : Progress{[](Phase, std::string_view) {}};
    // In a sandbox that is kept, `skiff logs NAME` shows this command.
    const std::string id = is_kept ? std::string{kMainCommand} : new_id("c");
    bool is_up = false;
    bool goes_on = false;
    auto work = [&](this auto) -> Task<Result<AttachedEnd>> {
      SKIFF_CO_TRY_VOID(co_await bring_up(driver, std::move(wanted), std::move(progress)));
      is_up = true;
      SKIFF_CO_TRY(auto endpoint, co_await driver->endpoint(name, {.scope = "read exec"}));
      if (detach_) {
        SKIFF_CO_TRY(const int left, co_await leave(context.executor(), endpoint, id, std::move(request)));
        goes_on = left == 0;
        co_return AttachedEnd{.status = left};
      }
      CommandStream command{context.executor(), endpoint, "default", id};
      command.start(std::move(request));
      SKIFF_CO_TRY(auto end, co_await stay_attached(&context, &command, std::move(joined)));
      // After detaching, the sandbox goes on, too, until its idle time is over.
      goes_on = end.is_detached;
      co_return end;
    };
    SKIFF_CO_TRY(const auto end, co_await finally(std::move(work), [&](this auto) -> Task<> {
                   // A new sandbox whose command could not be started is removed.
                   if (!is_up || goes_on || (is_kept && !detach_)) co_return;
                   auto removed = co_await driver->remove(name, {.patience = kUndoTime});
                   if (!removed) say("sandbox \"" + name + "\" is still there: " + removed.error().message);
                 }));
    if (goes_on && detach_) {
      const nlohmann::json value{{"sandbox", name}, {"command", id}};
      SKIFF_CO_TRY_VOID(context.show(value, name + "\n", name + "\n"));
    }
    co_return end.status;
  }

 private:
  /// Settles the sandbox's name, which may be given in one way only. With --image it may be the word before the
  /// command, as in kubectl; then the command is left running unless it is to be attached.
  Result<> settle_names(SettingsTable::Arguments& arguments, const nlohmann::json& request) {
    if (rm_ && !keep_.empty()) {
      return fail(Errc::invalid_field, "--rm and --keep contradict each other: use --name to set only a name");
    }
    if (!keep_.empty() && !name_.empty() && keep_ != name_) {
      return fail(Errc::invalid_field, "--keep and --name are different names");
    }
    if (arguments.words.empty() || std::ranges::count(arguments.given, "--image") == 0) return {};
    const std::string word = std::exchange(arguments.words, {}).front();
    const std::string& other = keep_.empty() ? name_ : keep_;
    if (!other.empty() && other != word) {
      return fail(Errc::invalid_field,
                  "with --image, \"" + word + "\" is the sandbox's name, but \"" + other + "\" is another one");
    }
    if (other.empty()) name_ = word;
    if (!rm_ && !request.contains("stdin_open") && !request.contains("tty")) detach_ = true;
    return {};
  }

  /// Adds a note to the output of --dry-run, which does not include the command.
  static Result<int> with_note(const Context& context, Result<int> printed) {
    if (printed && !context.options().quiet) {
      say("the command is not included: skiff starts it when the sandbox answers, and a dry run creates no sandbox");
    }
    return printed;
  }

  /// Starts the command in the background; the status says whether it could be started.
  static Task<Result<int>> leave(Executor executor, Endpoint endpoint, std::string id, nlohmann::json request) {
    request["id"] = std::move(id);
    request["mode"] = "background";
    AgentClient agent{executor, std::move(endpoint)};
    std::string body = request.dump();
    SKIFF_CO_TRY(auto started, co_await agent.post("/v1/commands", std::move(body)));
    const CommandExit exit = CommandExit::of(started);
    co_return exit.cause == "spawn_failed" ? exit_status(exit) : 0;
  }

  CommandFlags command_;
  SpecFlags spec_;
  std::string keep_;
  std::string name_;
  bool rm_ = false;
  bool detach_ = false;
  DryRun dry_run_;
};

}  // namespace

Command run_command() {
  return {
      .name = "run",
      .group = "Sandboxes",
      .summary = "run a command in a new sandbox, as docker run does",
      .text =
          "You must give the command: skiff does not run the image's ENTRYPOINT and CMD. skiff removes the sandbox\n"
          "when the command has ended, with its changes to the directory of --mount, unless you give --keep, --name\n"
          "or -d. Without IMAGE, and without a cluster, the command runs with this machine's programs, in a box. If\n"
          "skiff is killed, the command continues, and the sandbox ends by itself 5 minutes after the command\n"
          "(--idle-ttl). With --image, the word before the command is a name, as in kubectl run; without -i, -t and\n"
          "--rm skiff then leaves the command running.\n"
          "\n"
          "  skiff run python:3.12 -- python -c 'print(6 * 7)'\n"
          "  skiff run -- sh -c 'echo hello from $(uname)'\n"
          "  seq 9 | skiff run -i -- sort -r\n"
          "  skiff run -it --keep demo -- bash\n"
          "  skiff run -d --name web python:3.12 python3 -m http.server\n"
          "  skiff run web --image python:3.12 -- python3 -m http.server",
      .words = {{.name = "IMAGE|NAME", .optional = true}},
      .rest = Rest::required,
      .makes_sandboxes = true,
      .make = &create_invocation<Run>};
}

}  // namespace skiff::container
