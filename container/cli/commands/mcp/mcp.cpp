#include <unistd.h>

#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/async/blocking_pool.hpp"
#include "base/async/channel.hpp"
#include "base/async/finally.hpp"
#include "base/async/with_timeout.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/commands/mcp/own_sandbox.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/spec_flags.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/standard_input.hpp"
#include "container/mcp/bridge.hpp"
#include "container/sandbox/bring_up.hpp"
#include "container/sandbox/undo_unless.hpp"

namespace skiff::container {
namespace {

/// Idle time after which a sandbox ends by itself if its skiff was killed.
constexpr std::chrono::milliseconds kAbandonedTime = std::chrono::minutes{5};
/// A notice for the model; the user gets the driver's notice.
constexpr std::string_view kNotIsolated =
    "This is the user's own machine, not an isolated sandbox: commands run as the user, and reach the user's files, "
    "programs and network.";
/// Time for the answers to requests that are under way when the client closes stdin.
constexpr std::chrono::seconds kLastAnswers{10};

Task<> read_on_thread(BlockingPool* pool, ByteProducer bytes, ToReactor blocks, Result<TarSummary>* outcome) {
  auto read = [&] {
    auto summary = bytes.produce([&blocks](std::string block) { return blocks.push(std::move(block)); });
    blocks.finish();
    return summary;
  };
  *outcome = co_await pool->run(std::move(read));
}

class Mcp final : public Invocation {
 public:
  std::vector<Setting> rows() override { return spec_.rows(); }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    const bool is_given = !arguments.words.empty();
    const std::string name = is_given ? arguments.words.front() : create_name("mcp-");
    SKIFF_CO_TRY(auto spec, spec_.spec(name, context.options().owner, arguments.given));
    spec.is_one_shot = true;
    if (!spec.lease.idle_ttl) spec.lease.idle_ttl = kAbandonedTime;
    context.set_image(spec.image);
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    SKIFF_CO_TRY(auto input, standard_input());
    BlockingPool pool{"skiff-stdin", 1};
    ToReactor blocks{context.executor(), McpBridge::kLongestLine};
    // A client that does not read answers has left, even if it goes on sending requests.
    int failure = 0;
    Result<TarSummary> read;
    const auto write = [&](std::string_view line) {
      if (failure == 0) failure = write_all(STDOUT_FILENO, line);
      if (failure != 0) input.interrupt();
    };
    McpBridge bridge{context.executor(),
                     [&] { return is_given ? context.endpoint(name) : make(&context, driver, &spec); }, write,
                     driver->name() == "local" ? std::string{kNotIsolated}
                     : is_given                ? std::string{}
                                               : mount_notice(spec, context.options())};
    TaskGroup reading{context.executor()};
    auto serve = [&](this auto) -> Task<> {
      reading.spawn("stdin", read_on_thread(&pool, input, blocks, &read));
      co_await take_lines(&bridge, blocks);
      if (failure != 0) co_return;
      (void)co_await within(std::chrono::steady_clock::now() + kLastAnswers, last_answers(&bridge));
    };
    co_await finally(std::move(serve), [&](this auto) -> Task<> {
      blocks.leave();
      input.interrupt();
      co_await reading.join();
      co_await bridge.close();
      if (made_) co_await remove_unless_changed(driver, *made_, &context.options());
    });
    if (!read && read.error().code != Errc::cancelled) co_return std::unexpected{std::move(read.error())};
    if (failure != 0) co_return std::unexpected{system_error(failure, "write to stdout")};
    co_return 0;
  }

 private:
  Task<Result<Endpoint>> make(Context* context, Driver* driver, const SandboxSpec* spec) {
    context->tell_notice(*driver);
    BringUp wanted{.spec = *spec};
    auto up = co_await bring_up(driver, std::move(wanted), context->progress(spec->name));
    if (!up) {
      // Clients keep stderr in their logs, and do not all show the error that they get.
      say(up.error().message);
      co_return std::unexpected{std::move(up.error())};
    }
    made_ = std::move(up->sandbox);
    co_return co_await context->endpoint(made_->name);
  }

  /// Splits the input into lines. Only the beginning of a line that is too long is kept, to be refused.
  static Task<> take_lines(McpBridge* bridge, ToReactor blocks) {
    std::string line;
    bool was_refused = false;
    while (auto block = co_await blocks.pop()) {
      line += *block;
      std::size_t begin = 0;
      for (std::size_t end = line.find('\n'); end != std::string::npos; end = line.find('\n', begin)) {
        if (!std::exchange(was_refused, false)) bridge->take(std::string_view{line}.substr(begin, end - begin));
        begin = end + 1;
      }
      line.erase(0, begin);
      if (line.size() <= McpBridge::kLongestLine) continue;
      if (!std::exchange(was_refused, true)) bridge->take(line);
      line.clear();
    }
    if (!line.empty() && !was_refused) bridge->take(line);
  }

  static Task<bool> last_answers(McpBridge* bridge) {
    co_await bridge->idle();
    co_return true;
  }

  SpecFlags spec_;
  std::optional<Sandbox> made_;
};

}  // namespace

Command mcp_command() {
  return {
      .name = "mcp",
      .group = "Access",
      .summary = "serve a sandbox over the Model Context Protocol, on stdin and stdout",
      .text =
          "Without NAME skiff creates a sandbox at the client's first message, and removes it when the client closes\n"
          "stdin, or on a signal. A sandbox that has changed something in the directory of --mount is stopped and\n"
          "kept, so that `skiff apply` can take the changes; skiff says so on stderr, and the model knows it.\n"
          "With NAME it uses an existing sandbox and keeps it.\n"
          "\n"
          "  skiff mcp config cursor   # prints the lines for a client's configuration",
      .words = {{.name = "NAME", .kind = WordKind::sandbox, .optional = true}},
      .makes_sandboxes = true,
      .make = &create_invocation<Mcp>};
}

}  // namespace skiff::container
