#pragma once

#include <functional>
#include <thread>

namespace skiff {

/// Starts a thread that takes no signal, from its first instruction on. Signals belong to the reactor, which reads them
/// from a signalfd: a signal that another thread takes by its default action, such as SIGCHLD, is lost (signal(7)).
/// Throws std::system_error when the system refuses a thread (pthread_create(3)).
[[nodiscard]] std::thread start_worker(std::move_only_function<void()> work);

}  // namespace skiff
