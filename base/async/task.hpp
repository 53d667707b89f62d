#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace skiff {

/// Everything that has state runs on one reactor; the concrete executor type keeps Asio from type-erasing each hop.
using Executor = boost::asio::io_context::executor_type;

/// A coroutine on the reactor. Take parameters by value (a reference could die before the coroutine does).
template <class T = void>
using Task = boost::asio::awaitable<T, Executor>;

/// The completion token that goes with `Task`.
inline constexpr boost::asio::use_awaitable_t<Executor> use_task{};

}  // namespace skiff
