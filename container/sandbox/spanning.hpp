#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/sandbox/progress.hpp"
#include "container/trace/tracing.hpp"

/// Spans around work on sandboxes.
namespace skiff::container {

/// Runs the work within the span, which records its error.
template <class T>
Task<Result<T>> spanning(Span span, Task<Result<T>> work) {
  auto result = co_await std::move(work);
  span.note(result);
  co_return result;
}

/// Runs the work within a span that also records events. The progress function may keep the span for longer.
template <class T>
Task<Result<T>> spanning(std::shared_ptr<Span> span, Task<Result<T>> work) {
  auto made = co_await std::move(work);
  span->note(made);
  span->end();
  co_return made;
}

/// A progress function that records each phase in the span and calls `progress`.
[[nodiscard]] Progress noting(std::shared_ptr<Span> span, Progress progress);

/// A span about one sandbox; empty where nothing is traced.
[[nodiscard]] Span begin_span(const TraceParent& at, std::string_view what, std::string_view sandbox);

}  // namespace skiff::container
