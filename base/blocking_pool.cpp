#include "base/blocking_pool.hpp"

#include <pthread.h>

#include <system_error>

#include "base/worker_thread.hpp"

namespace skiff {

BlockingPool::BlockingPool(std::string_view name, std::size_t threads) : name_{name}, most_{threads} {
  threads_.push_back(start_worker([this] { serve(); }));
}

BlockingPool::~BlockingPool() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  ready_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void BlockingPool::post(std::move_only_function<void()> job) {
  {
    const std::lock_guard lock{mutex_};
    jobs_.push_back(std::move(job));
    if (jobs_.size() > idle_ && threads_.size() < most_) {
      try {
        threads_.push_back(start_worker([this] { serve(); }));
      } catch (const std::system_error&) {
        // EAGAIN, pthread_create(3). Those threads that there are do the work.
      }
    }
  }
  ready_.notify_one();
}

void BlockingPool::serve() {
  pthread_setname_np(pthread_self(), name_.data());

  std::unique_lock lock{mutex_};
  for (;;) {
    ++idle_;
    ready_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    --idle_;
    if (jobs_.empty()) return;
    {
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
    }
    lock.lock();
  }
}

}  // namespace skiff
