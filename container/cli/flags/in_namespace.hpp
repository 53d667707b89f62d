#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/async/finally.hpp"
#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/cli/context.hpp"

/// For -A and similar flags: one command works in several namespaces.
namespace skiff::container {

/// The namespaces of the cluster in which the selected driver has sandboxes.
[[nodiscard]] Task<Result<std::vector<std::string>>> namespaces_in_use(Context* context);

/// Runs `work` with a context of another namespace and returns its result. The context is always closed.
template <class T>
Task<Result<T>> in_namespace(const Context* context, std::string name,
                             std::function<Task<Result<T>>(Context* there)> work) {
  Context there = context->in_namespace(std::move(name));
  co_return co_await finally([&] { return work(&there); }, [&] { return there.close(); });
}

}  // namespace skiff::container
