#include "container/sandbox/spanning.hpp"

#include <string>

namespace skiff::container {

Progress noting(std::shared_ptr<Span> span, Progress progress) {
  return [span = std::move(span), progress = std::move(progress)](Phase phase, std::string_view detail) {
    Attributes attributes;
    if (!detail.empty()) attributes.emplace_back("skiff.detail", std::string{detail});
    span->event(std::string{phase_word(phase)}, std::move(attributes));
    progress(phase, detail);
  };
}

Span begin_span(const TraceParent& at, std::string_view what, std::string_view sandbox) {
  if (!at) return {};
  Span span = at.begin(what);
  span.set("skiff.sandbox.name", std::string{sandbox});
  return span;
}

}  // namespace skiff::container
