#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/sandbox/progress.hpp"
#include "container/trace/tracing.hpp"

/// Spans around work on sandboxes.
namespace skiff::container {

/// The span fails as the work does.
template <class T>
Task<Result<T>> spanning(Span span, Task<Result<T>> work) {
  auto result = co_await std::move(work);
  span.note(result);
  co_return result;
}

/// With events while it goes on. The caller may keep the progress function, and with it the span, for longer.
template <class T>
Task<Result<T>> spanning(std::shared_ptr<Span> span, Task<Result<T>> work) {
  auto made = co_await std::move(work);
  span->note(made);
  span->end();
  co_return made;
}

/// Tells the phases of a bring-up to the span, too.
[[nodiscard]] Progress noting(std::shared_ptr<Span> span, Progress progress);

/// A span about one sandbox; none where nothing is traced.
[[nodiscard]] Span begin_span(const TraceParent& at, std::string_view what, std::string_view sandbox);

}  // namespace skiff::container
