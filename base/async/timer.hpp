#pragma once

#include <chrono>

#include <boost/asio/basic_waitable_timer.hpp>

#include "base/async/task.hpp"

namespace skiff {

/// A timer of the steady clock. For a limit that is moved often and reached seldom, use a `Deadline`.
using Timer = boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                                boost::asio::wait_traits<std::chrono::steady_clock>, Executor>;

}  // namespace skiff
