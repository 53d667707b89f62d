#pragma once

#include <memory>

#include "base/error.hpp"
#include "container/cli/command.hpp"
#include "container/trace/trace_settings.hpp"
#include "container/trace/tracing.hpp"

namespace skiff::container {

/// The trace of one run of a command, if one is asked for by the variables of OpenTelemetry.
class TraceRun {
 public:
  /// What is wrong with the variables is said on stderr unless `quiet`. Commands that no list shows are not traced,
  /// nor are those that trace each request.
  TraceRun(const Command& command, bool quiet);
  ~TraceRun();
  TraceRun(const TraceRun&) = delete;
  TraceRun& operator=(const TraceRun&) = delete;

  [[nodiscard]] TraceParent here() const { return span_.here(); }
  void fail(const Error& error) { span_.fail(error); }

  /// Sends what was recorded, for at most the configured time. Should name resolution hang even then, the process ends
  /// here, with `status`: a resolver can't be interrupted. Call it when everything else is done.
  void finish(int status);

 private:
  bool quiet_;
  TraceConfiguration configuration_;
  std::shared_ptr<Tracer> tracer_;
  Span span_;
};

}  // namespace skiff::container
