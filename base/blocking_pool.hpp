#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/task.hpp"

namespace skiff {

/// A few threads for calls that may block (process creation, disk). One is there from the beginning, as there may be
/// none to have later: a command can take all processes that there may be. The others start when a job needs them. The
/// pool's destruction runs every job that was posted and joins.
///
/// A job that waits for somebody else, a client or the holder of a lock, stands aside meanwhile, and another one runs
/// in its place. So there may be more threads than jobs that run; those that find nothing to do end.
class BlockingPool {
 public:
  /// So many jobs run at once: `threads` in 1..64. So many more may stand aside: `places`; one that finds no place
  /// keeps its thread. `name` shows in ps(1) and must be a literal of at most 15 characters. Throws std::system_error
  /// when the system has no thread to give (pthread_create(3)).
  BlockingPool(std::string_view name, std::size_t threads, std::size_t places = 0);
  ~BlockingPool();
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  /// Runs `job` on a pool thread. Callable from any thread.
  void post(std::move_only_function<void()> job);

  /// The pool whose job this thread runs; null on all other threads.
  [[nodiscard]] static BlockingPool* current() noexcept;

  /// Whether more jobs have begun than may stand aside; with so many `further` ones. A job that asks for this first,
  /// and leaves off then, finds a place whenever it has to wait.
  [[nodiscard]] bool crowded(std::size_t further = 0);

  /// How a job comes back from a wait: `in_turn` with those that have not begun, so that no more run than shall; a job
  /// that holds what others wait for, or has nothing more to do than to end, comes back `at_once`.
  enum class Return : unsigned char { at_once, in_turn };

  /// Held by a job while it waits for somebody else; by one thread at a time where a job has several. May be held on
  /// another thread than the job's own.
  class Aside {
   public:
    explicit Aside(BlockingPool* pool, Return how = Return::at_once);
    ~Aside();
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;
    void returns(Return how) noexcept { how_ = how; }

   private:
    BlockingPool* pool_;  ///< null: it kept its place
    Return how_;
  };

  /// Runs `work` on a pool thread and resumes the caller on its own executor with what it returned. Cancellation does
  /// not interrupt it: the caller waits until it is done, so `work` may refer to the caller's frame. What it throws
  /// (std::bad_alloc) is thrown at the caller.
  template <class Work>
  Task<std::invoke_result_t<Work&>> run(Work work) {
    std::optional<std::invoke_result_t<Work&>> result;
    std::move_only_function<void()> job = [&result, &work] { result.emplace(work()); };
    co_await run_job(&job);
    co_return std::move(*result);
  }

 private:
  /// What `run` does whatever the job: in the binary once, and not for each of them.
  Task<> run_job(std::move_only_function<void()>* job);

  /// A job that has waited and comes back in its turn.
  struct Returning {
    std::condition_variable granted;
    bool may_run = false;
  };
  using Threads = std::list<std::thread>;

  void serve(Threads::iterator self);
  /// One more thread, if a job could begin and none is there for it.
  void add_thread();
  /// A place may have become free: the next one takes it.
  void pass_on();
  [[nodiscard]] bool may_begin() const { return !jobs_.empty() && running_ < most_; }

  const std::string_view name_;
  const std::size_t most_;
  const std::size_t places_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::move_only_function<void()>> jobs_;
  std::deque<Returning*> returning_;
  bool returned_last_ = false;  ///< they take turns with those that have not begun
  Threads threads_;
  std::thread ended_;  ///< the last one that found nothing to do; joined by the next
  std::size_t idle_ = 0;
  std::size_t running_ = 0;
  std::size_t aside_ = 0;
  bool stopping_ = false;
};

}  // namespace skiff
