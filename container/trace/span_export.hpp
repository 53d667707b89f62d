#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

#include "base/error.hpp"
#include "base/task.hpp"
#include "base/task_group.hpp"
#include "container/trace/trace_settings.hpp"
#include "container/trace/tracing.hpp"
#include "protocol/http/client.hpp"

namespace skiff::container {

/// The traces of a process that goes on: each request is one, or a part of its client's. Spans wait in a queue of 2,048
/// at most, with texts of 1,024 bytes at most, and are sent by 512, a second after the first of them has ended at the
/// latest. A collector that can't be reached loses them, and makes nobody wait. Reactor thread only.
class SpanExport {
 public:
  /// `resolver` is for the collector's name.
  SpanExport(Executor executor, protocol::Resolver resolver, TraceSettings settings);
  SpanExport(const SpanExport&) = delete;
  SpanExport& operator=(const SpanExport&) = delete;

  /// Where the spans of one request begin. `traceparent` is what it came with: what is not valid is none.
  [[nodiscard]] TraceParent begin(std::string_view traceparent) const;

  /// From now on spans are sent. Once.
  void start();
  /// Sends what waits, within the settings' timeout, and ends. Call it before the object goes away, if it was started.
  [[nodiscard]] Task<> stop();

  /// Spans there was no room for, and those that no collector took.
  [[nodiscard]] std::size_t lost() const noexcept;

 private:
  struct Queue;
  [[nodiscard]] Task<> run();
  [[nodiscard]] Task<> send_some();

  Executor executor_;
  protocol::Resolver resolver_;
  TraceSettings settings_;
  std::shared_ptr<Queue> queue_;  ///< spans may end when this has gone
  TaskGroup tasks_;
  std::size_t under_way_ = 0;  ///< spans of the request that has no answer yet
  bool stopping_ = false;
  bool fails_ = false;
};

}  // namespace skiff::container
