#pragma once

#include <memory>

#include "base/error.hpp"
#include "container/cli/parse/command.hpp"
#include "container/trace/trace_settings.hpp"
#include "container/trace/tracing.hpp"

namespace skiff::container {

/// The trace of one run of a command, if the variables of OpenTelemetry ask for it.
class TraceRun {
 public:
  /// Reports errors in the variables on stderr unless `quiet`. Commands that are not listed, or that trace each
  /// request, are not traced.
  TraceRun(const Command& command, bool quiet);
  ~TraceRun();
  TraceRun(const TraceRun&) = delete;
  TraceRun& operator=(const TraceRun&) = delete;

  [[nodiscard]] TraceParent here() const { return span_.here(); }
  void fail(const Error& error) { span_.fail(error); }

  /// Sends the spans within the configured time. If name resolution still hangs then, the process ends here with
  /// `status`, because a resolver cannot be interrupted. Call it when everything else is done.
  void finish(int status);

 private:
  bool quiet_;
  TraceConfiguration configuration_;
  std::shared_ptr<Tracer> tracer_;
  Span span_;
};

}  // namespace skiff::container
