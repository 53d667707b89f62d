#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "base/id.hpp"
#include "container/cli/attached.hpp"
#include "container/cli/command_flags.hpp"
#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output.hpp"
#include "container/cli/spec_flags.hpp"
#include "container/cli/terminal.hpp"
#include "container/launcher/bring_up.hpp"

namespace skiff::container {
namespace {

/// A sandbox whose skiff was killed outright ends by itself this long after its command.
constexpr std::chrono::milliseconds kOrphanTime = std::chrono::minutes{5};

class Run final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    std::vector<Setting> rows = command_.rows();
    std::ranges::move(spec_.rows(), std::back_inserter(rows));
    rows.push_back({.flag = "keep",
                    .environment = "",
                    .target = setting::Text{&keep_},
                    .value = "NAME",
                    .group = "",
                    .help = "Keep the sandbox afterwards, under this name."});
    return rows;
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    auto request = command_.request(std::move(arguments.rest));
    if (!request) co_return std::unexpected{std::move(request.error())};
    const std::string name = keep_.empty() ? make_name("run-") : keep_;
    auto joined = command_.attached(name);
    if (!joined) co_return std::unexpected{std::move(joined.error())};
    auto spec = spec_.spec(name, context.options().owner, arguments.given);
    if (!spec) co_return std::unexpected{std::move(spec.error())};
    if (!arguments.words.empty()) spec->image = arguments.words.front();
    spec->is_one_shot = keep_.empty();
    if (keep_.empty() && !spec->lease.idle_ttl) spec->lease.idle_ttl = kOrphanTime;
    auto driver = co_await context.driver();
    if (!driver) co_return std::unexpected{std::move(driver.error())};
    context.tell_notice(**driver);
    BringUp wanted{.spec = std::move(*spec)};
    // Who runs a command wants to see that command; the phases are for those who watch a terminal.
    Progress progress = shows_progress() ? context.progress(name) : Progress{[](Phase, std::string_view) {}};
    auto up = co_await bring_up(*driver, std::move(wanted), std::move(progress));
    if (!up) co_return std::unexpected{std::move(up.error())};

    Result<AttachedEnd> end = std::unexpected{Error{}};
    std::exception_ptr failure;
    try {
      auto endpoint = co_await (*driver)->endpoint(name, {});
      if (endpoint) {
        CommandStream command{context.executor(), *endpoint, "default", new_id("c")};
        command.start(std::move(*request));
        end = co_await stay_attached(&context, &command, std::move(*joined));
      } else {
        end = std::unexpected{std::move(endpoint.error())};
      }
    } catch (...) {
      failure = std::current_exception();
    }
    // Who leaves a command leaves its sandbox, too: that ends by its idle time.
    const bool goes_on = !failure && end && end->is_detached;
    if (keep_.empty() && !goes_on) {
      co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
      auto removed = co_await (*driver)->remove(name, {});
      if (!removed) say("sandbox \"" + name + "\" is still there: " + removed.error().message);
    }
    if (failure) std::rethrow_exception(failure);
    if (!end) co_return std::unexpected{std::move(end.error())};
    co_return end->status;
  }

 private:
  CommandFlags command_;
  SpecFlags spec_;
  std::string keep_;
};

}  // namespace

Command run_command() {
  return {.name = "run",
          .group = "Sandboxes",
          .summary = "run one command in a sandbox of its own, as docker run does",
          .text =
              "The sandbox goes when the command has ended, unless --keep names it. With the local driver there is\n"
              "no IMAGE: the command runs on this machine, in a new folder. Should skiff be killed, the command goes\n"
              "on, and the sandbox ends by itself 5 minutes after it (--idle-ttl).\n\n"
              "  skiff run python:3.12 -- python -c 'print(6 * 7)'\n"
              "  skiff run -- sh -c 'echo hello from $(uname)'\n"
              "  seq 9 | skiff run -i -- sort -r\n"
              "  skiff run -it --keep demo -- bash",
          .words = {{.name = "IMAGE", .optional = true}},
          .rest = Rest::required,
          .makes_sandboxes = true,
          .make = &make_invocation<Run>};
}

}  // namespace skiff::container
