#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log/log.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/server_signals.hpp"
#include "container/console/console.hpp"
#include "container/console/own_host.hpp"
#include "container/console/page_files.hpp"
#include "container/process/open_files.hpp"
#include "container/serve/server.hpp"
#include "protocol/net/listener.hpp"

namespace skiff::container {
namespace {

class ConsoleCommand final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    if (!console::has_page()) co_return fail(Errc::not_supported, console::kNoPage);
    raise_open_files();
    context.set_serves_others();
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    std::string name = arguments.words.empty() ? std::string{} : std::move(arguments.words.front());
    // A mistake in the name is told here, and not in the browser.
    if (!name.empty()) SKIFF_CO_TRY_VOID(co_await driver->get(name));
    // The gateway signs a token for each way to an agent.
    if (driver->name() == "direct") {
      SKIFF_CO_TRY_VOID(co_await driver->endpoint(name, {.scope = "read exec", .lifetime = std::chrono::hours{1}}));
    }
    SKIFF_CO_TRY(auto address, protocol::Address::parse("127.0.0.1:0"));
    SKIFF_CO_TRY(auto listener,
                 protocol::Listener::open(context.executor(), address, protocol::any_address(address, {&address, 1})));
    SKIFF_CO_TRY(auto templates, serve::Templates::create({}, {}));
    log::configure(log::Level::warning, log::Form::text);

    // The agent of the driver direct has no owner.
    console::OwnKey key{driver->name() == "direct" ? std::string{} : context.options().owner};
    console::OwnHost host{driver};
    serve::Service service{context.executor(),
                           &host,
                           &key,
                           std::move(templates),
                           {.domain = console::new_preview_domain(),
                            .is_local = is_of_this_machine(driver->name()),
                            .for_own_pages = true}};
    console::Console console{&service, key.text(), std::move(name)};
    ServerSignals signals{context};
    say("the console of " + driver->place() + "; this link works once, and Ctrl-C ends the console:");
    SKIFF_CO_TRY_VOID(print(console.link(listener->address().port()) + "\n"));
    std::vector<std::shared_ptr<protocol::Listener>> listeners;
    listeners.push_back(std::move(listener));
    SKIFF_CO_TRY_VOID(
        co_await serve::serve_until(signals.asked(), &service, std::move(listeners),
                                    {.drain_time = std::chrono::milliseconds{0},
                                     .front = [&console](protocol::HttpExchange& http) { return console.answer(http); },
                                     .keeps_clean = false}));
    co_return 0;
  }
};

}  // namespace

Command console_command() {
  return {.name = "console",
          .group = "Sandboxes",
          .summary = "see and steer your sandboxes in a browser",
          .text =
              "Prints a link for a browser on this machine, which works once, and serves the page until it is\n"
              "interrupted. With NAME the link opens that sandbox. On a machine that you reach by ssh, forward\n"
              "the port, and put localhost in place of the link's host (docs/console.md).",
          .words = {{.name = "NAME", .kind = WordKind::sandbox, .optional = true}},
          .traces_requests = true,
          .make = &create_invocation<ConsoleCommand>};
}

}  // namespace skiff::container
