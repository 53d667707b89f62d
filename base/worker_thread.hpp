#pragma once

#include <functional>
#include <thread>

namespace skiff {

/// Starts a thread that takes no signal, from its first instruction on. They belong to the reactor, which reads them
/// from a signalfd: what another thread takes by its default action, as SIGCHLD, is lost (signal(7)). Throws
/// std::system_error when the system has no thread to give (pthread_create(3)).
[[nodiscard]] std::thread start_worker(std::move_only_function<void()> work);

}  // namespace skiff
