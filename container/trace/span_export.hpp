#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/error.hpp"
#include "container/trace/trace_settings.hpp"
#include "container/trace/tracing.hpp"
#include "protocol/http/client.hpp"

namespace skiff::container {

/// The traces of a server: each request is a trace, or a part of its client's trace. A queue keeps at most 2,048 spans
/// with texts of at most 1,024 bytes. They are sent in batches of 512, at the latest a second after the first of them
/// has ended. If the collector cannot be reached, its spans are lost, and no request waits. Reactor thread only.
class SpanExport {
 public:
  /// `resolver` resolves the collector's name.
  SpanExport(Executor executor, protocol::Resolver resolver, TraceSettings settings);
  SpanExport(const SpanExport&) = delete;
  SpanExport& operator=(const SpanExport&) = delete;

  /// The parent for the spans of one request. `traceparent` is the request's header field; an invalid one is ignored.
  [[nodiscard]] TraceParent begin(std::string_view traceparent) const;

  /// Begins to send spans. Call it once.
  void start();
  /// Sends the waiting spans, within the settings' timeout, and ends. Call it before the object is destroyed, if it was
  /// started.
  [[nodiscard]] Task<> stop();

  /// Number of spans for which there was no room, or which the collector did not take.
  [[nodiscard]] std::size_t lost() const noexcept;

 private:
  struct Queue;
  [[nodiscard]] Task<> run();
  [[nodiscard]] Task<> send_some();

  Executor executor_;
  protocol::Resolver resolver_;
  TraceSettings settings_;
  std::shared_ptr<Queue> queue_;  ///< shared, because spans may end after this object
  TaskGroup tasks_;
  std::size_t under_way_ = 0;  ///< spans of the request that has no answer yet
  bool stopping_ = false;
  bool fails_ = false;
};

}  // namespace skiff::container
