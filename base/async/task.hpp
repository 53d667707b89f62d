#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace skiff {

/// All coroutines run on one reactor (the io_context). Its concrete type spares Asio a type-erased executor per hop.
using Executor = boost::asio::io_context::executor_type;

/// A coroutine on the reactor. Take parameters by value (a reference could die before the coroutine does).
template <class T = void>
using Task = boost::asio::awaitable<T, Executor>;

/// The completion token that goes with `Task`.
inline constexpr boost::asio::use_awaitable_t<Executor> use_task{};

}  // namespace skiff
