#include <clocale>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <unistd.h>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include "base/variables.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/standard_streams.hpp"
#include "container/cli/output/terminal.hpp"
#include "container/cli/parse/parse.hpp"
#include "container/cli/trace_run.hpp"
#include "container/cluster/rbac.hpp"
#include "container/drivers/box/enter.hpp"
#include "container/egress/cluster/probe.hpp"
#include "container/egress/cluster/serve_cluster.hpp"
#include "container/egress/serve.hpp"
#include "container/sandbox/undo_unless.hpp"

namespace {

using namespace skiff;
using namespace skiff::container;

int usage_error(const Error& error) {
  const std::string command = error.field.empty() ? "" : error.field + " ";
  say((error.field.empty() ? "" : error.field + ": ") + error.message);
  say("see `skiff " + command + "--help`");
  return kFailed;
}

/// A message for people, or for programs what they can tell apart: one line of JSON.
void say_failure(const Error& error, std::string_view command, bool as_json) {
  const std::string detail = with_right_hint(error, command);
  if (!as_json) return say(detail);
  nlohmann::ordered_json told{{"code", name(error.code)}, {"detail", detail}};
  if (!error.field.empty()) told["field"] = error.field;
  (void)write_all(STDERR_FILENO, told.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
}

int run(Parsed parsed, TraceRun& trace) {
  const std::string_view command = parsed.command->name;
  const bool as_json = parsed.options.output == "json";
  boost::asio::io_context io;
  boost::asio::cancellation_signal cancel;
  Signals signals{io.get_executor(), [&cancel] { cancel.emit(boost::asio::cancellation_type::terminal); }};
  Context context{io.get_executor(), std::move(parsed.options), signals, trace.here()};
  std::optional<Result<int>> result;
  const auto ended = [&](const std::exception_ptr& failure, Result<int> outcome) {
    signals.stop();
    if (!failure) {
      result = std::move(outcome);
      return;
    }
    try {
      std::rethrow_exception(failure);
    } catch (const NotUndone& error) {
      say(error.what());
    } catch (const nlohmann::json::exception& error) {
      // A field of an answer has another type than it should.
      result = fail(Errc::invalid_request, std::string{"what was answered is not as it should be: "} + error.what());
    } catch (const std::exception& error) {
      if (signals.interrupted_by() == 0) result = fail(Errc::internal, error.what());
    }
  };
  boost::asio::co_spawn(io, run_to_end(&context, parsed.invocation.get(), std::move(parsed.arguments)),
                        boost::asio::bind_cancellation_slot(cancel.slot(), ended));
  io.run();
  restore_terminal();
  if (signals.interrupted_by() != 0) {
    trace.fail({Errc::cancelled, "interrupted by a signal"});
    return 128 + signals.interrupted_by();
  }
  if (result && *result) return **result;
  if (!result) result = fail(Errc::internal, "the work ended without a result");
  trace.fail(result->error());
  say_failure(result->error(), command, as_json);
  return kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  // It shares nothing with the other commands: it must have one thread, and what it does first takes rights away.
  if (argc == 2 && argv[1] == box::kEnterCommand) return box::enter();
  const std::span<const char* const> words{argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)};
  // Its standard streams are sockets.
  if (egress::is_serve(words)) return egress::serve(words);
  if (egress::is_serve_cluster(words)) return egress::serve_cluster(words);
  if (egress::is_probe(words)) return egress::probe(words);
  hold_standard_streams();
  // libarchive takes names of files for text in this encoding.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  auto parsed = parse(words, ::environ);
  if (!parsed) return usage_error(parsed.error());
  if (parsed->help) {
    const std::string text = parsed->command == nullptr ? overview() : command_help(*parsed->command, text_width());
    return print(text) ? 0 : kFailed;
  }
  // Completion is silent.
  if (!parsed->options.quiet && !parsed->command->group.empty()) {
    for (const UnknownVariable& variable : unknown_variables(::environ, Program::launcher)) {
      say(variable.text("skiff"));
    }
  }
  TraceRun trace{*parsed->command, parsed->options.quiet};
  const int status = run(std::move(*parsed), trace);
  trace.finish(status);
  return status;
}
