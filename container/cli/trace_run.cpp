#include "container/cli/trace_run.hpp"

#include <unistd.h>

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "container/cli/output/output.hpp"
#include "container/net/proxy.hpp"
#include "container/net/resolver.hpp"
#include "container/trace/otlp.hpp"

namespace skiff::container {
TraceRun::TraceRun(const Command& command, bool quiet) : quiet_{quiet} {
  if (command.group.empty() || command.traces_requests) return;
  configuration_ = read_trace_settings(net::process_environment);
  if (!quiet_) {
    for (const std::string& warning : configuration_.warnings) say(warning);
  }
  if (!configuration_.settings) return;
  tracer_ = std::make_shared<Tracer>(*configuration_.settings);
  // Names and attributes: OpenTelemetry semantic conventions, "CLI programs".
  span_ = Tracer::root(tracer_).begin("skiff " + std::string{command.name});
  span_.set("process.executable.name", "skiff");
  span_.set("process.pid", ::getpid());
}

TraceRun::~TraceRun() = default;

void TraceRun::finish(int status) {
  if (!tracer_) return;
  span_.set("process.exit.code", status);
  span_.end();
  if (tracer_->ended().empty()) return;
  const TraceSettings& settings = *configuration_.settings;
  std::optional<Result<>> sent;
  boost::asio::io_context io;
  auto work = send_spans(io.get_executor(), net::system_resolver(), settings, tracer_->ended());
  boost::asio::co_spawn(io, std::move(work), [&sent](const std::exception_ptr& failure, Result<> outcome) {
    sent = failure ? skiff::fail(Errc::internal, "an exception") : std::move(outcome);
  });
  io.run_for(settings.timeout);
  if (!quiet_ && (!sent || !*sent)) {
    const std::string why =
        sent ? sent->error().message : "no answer within " + std::to_string(settings.timeout.count()) + " ms";
    say("tracing: " + std::to_string(tracer_->ended().size()) + " spans were not sent to " + settings.collector.text() +
        ": " + why);
  }
  if (!quiet_ && tracer_->dropped() > 0)
    say("tracing: " + std::to_string(tracer_->dropped()) + " further spans were dropped");
  if (!sent) ::_exit(status);
}

}  // namespace skiff::container
