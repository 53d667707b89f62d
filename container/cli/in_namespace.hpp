#pragma once

#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/cli/context.hpp"

/// What -A and its like need: one command at work in several namespaces.
namespace skiff::container {

/// The namespaces of the cluster in which the driver that was asked for has sandboxes.
[[nodiscard]] Task<Result<std::vector<std::string>>> namespaces_in_use(Context* context);

/// What `work` gives in a namespace, whose context ends with it: what its driver holds open is ended whatever happens.
template <class T>
Task<Result<T>> in_namespace(const Context* context, std::string name,
                             std::function<Task<Result<T>>(Context* there)> work) {
  Context there = context->in_namespace(std::move(name));
  Result<T> done;
  std::exception_ptr cancelled;
  try {
    done = co_await work(&there);
  } catch (...) {
    cancelled = std::current_exception();
  }
  if (cancelled) co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  co_await there.close();
  if (cancelled) std::rethrow_exception(cancelled);
  co_return done;
}

}  // namespace skiff::container
