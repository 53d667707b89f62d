#include "container/serve/traced_calls.hpp"

#include <memory>
#include <utility>

#include "container/sandbox/spanning.hpp"

namespace skiff::container::serve {

Task<Result<Made>> create_traced(Fleet* fleet, TraceParent trace, ApiKey key, CreateRequest request,
                                 Progress progress) {
  if (!trace) co_return co_await fleet->create(std::move(key), std::move(request), std::move(progress));
  auto span = std::make_shared<Span>(trace.begin("create sandbox"));
  span->set("skiff.template", request.template_name);
  auto made = co_await fleet->create(std::move(key), std::move(request), noting(span, std::move(progress)));
  if (made) span->set("skiff.sandbox.name", made->sandbox.name);
  span->note(made);
  span->end();
  co_return made;
}

Task<Result<Sandbox>> start_traced(Fleet* fleet, const TraceParent& trace, ApiKey key, std::string id,
                                   std::optional<std::chrono::milliseconds> ttl) {
  Span span = begin_span(trace, "start sandbox", id);
  return spanning(std::move(span), fleet->start(std::move(key), std::move(id), ttl));
}

}  // namespace skiff::container::serve
