#include "fs/search/walk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/worker_thread.hpp"
#include "fs/path/descend.hpp"
#include "fs/search/ignore.hpp"

namespace skiff::fs {
namespace {

using Kind = WalkEntry::Kind;

constexpr std::size_t kDirectoryBlock = std::size_t{64} << 10U;
constexpr int kMostOpen = 128;
constexpr unsigned kMostWalkDepth = 4096;
constexpr std::size_t kWorthSharing = 32;  // names; fewer are visited before another thread has woken up
constexpr unsigned kMostThreads = 4;

/// A record of getdents64(2).
struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t next;
  unsigned short size;
  unsigned char type;
  char name[1];
};

struct Directory {
  Directory(UniqueFd opened, std::string its_path, std::atomic<int>& open)
      : fd{std::move(opened)}, path{std::move(its_path)}, open_directories{open} {
    ++open_directories;
  }
  ~Directory() { close(); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  void close() {
    if (fd) --open_directories;
    fd.reset();
  }

  UniqueFd fd;  ///< empty when too many are open: it is then opened again for each directory in it
  std::string path;
  std::shared_ptr<const IgnoreScope> scope;
  dev_t device = 0;
  unsigned depth = 0;
  std::atomic<int>& open_directories;
};

struct Child {
  std::string name;
  Kind kind;
};

/// Waiting work: names in `directory` to visit, or one directory in it that was visited and must be read.
struct Item {
  std::shared_ptr<Directory> directory;
  std::vector<Child> children;
  bool visited = false;
};

Kind kind_of(int directory, const DirectoryEntry& entry) {
  switch (entry.type) {
    case DT_REG:
      return Kind::file;
    case DT_DIR:
      return Kind::directory;
    case DT_LNK:
      return Kind::link;
    case DT_UNKNOWN:
      break;
    default:
      return Kind::other;
  }
  struct stat info{};
  if (::fstatat(directory, entry.name, &info, AT_SYMLINK_NOFOLLOW) != 0) return Kind::other;
  if (S_ISREG(info.st_mode)) return Kind::file;
  if (S_ISDIR(info.st_mode)) return Kind::directory;
  return S_ISLNK(info.st_mode) ? Kind::link : Kind::other;
}

bool is_virtual(int directory) {
  struct statfs info{};
  if (::fstatfs(directory, &info) != 0) return false;
  switch (static_cast<unsigned long>(info.f_type)) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case DEVPTS_SUPER_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC:
    case SECURITYFS_MAGIC:
    case BPF_FS_MAGIC:
      return true;
    default:
      return false;
  }
}

class Walk {
 public:
  Walk(const UniqueFd& top, const WalkOptions& options, const std::stop_token& stop,
       const std::function<WalkStep(const WalkEntry&)>& visit)
      : top_{top}, options_{options}, stop_{stop}, visit_{visit} {
    if (options.everything) options_.hidden = options_.ignored = true;
    options_.threads = options.sorted ? 1 : std::clamp(options.threads, 1U, kMostThreads);
  }

  WalkSummary run() {
    auto top = open_top();
    if (!top) {
      leave_out(options_.prefix);
      return {.unreadable = 1};
    }
    take_part([&] {
      Worker first;
      pending_ = 1;  // keeps the other threads from ending while this one reads
      read(std::move(top), first);
      {
        const std::lock_guard lock{mutex_};
        --pending_;
      }
      serve(first);
    });
    {
      const std::lock_guard lock{mutex_};
      started_ = kMostThreads;  // no further threads start
      ready_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
    if (out_of_memory_) throw std::bad_alloc{};
    return {.unreadable = unreadable_, .vanished = vanished_, .not_entered = not_entered_, .stopped = stopping()};
  }

 private:
  struct Worker {
    unsigned number = 0;
    std::string path;
    std::vector<char> block = std::vector<char>(kDirectoryBlock);
  };

  bool stopping() const { return stopped_.load(std::memory_order_relaxed) || stop_.stop_requested(); }

  std::shared_ptr<Directory> open_top() {
    auto opened = descend(top_.get(), "");
    if (!opened) return nullptr;
    auto directory = std::make_shared<Directory>(std::move(*opened), options_.prefix, open_);
    struct stat info{};
    if (::fstat(directory->fd.get(), &info) == 0) directory->device = info.st_dev;
    if (options_.ignored) return directory;
    if (options_.root >= 0) directory->scope = scope_above();
    directory->scope = read_ignore_scope(directory->fd.get(), directory->path, std::move(directory->scope));
    return directory;
  }

  /// Reads the rules of the directories from the root down to the parent of the walk's directory.
  std::shared_ptr<const IgnoreScope> scope_above() const {
    std::shared_ptr<const IgnoreScope> scope;
    const std::string_view prefix = options_.prefix;
    for (std::size_t end = 0; end < prefix.size(); ++end) {
      if (end > 0 && prefix[end] != '/') continue;
      const std::string_view path = prefix.substr(0, end);
      if (const auto above = descend(options_.root, path))
        scope = read_ignore_scope(above->get(), path, std::move(scope));
    }
    return scope;
  }

  UniqueFd open_child(const Directory& parent, const char* name) const {
    constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    if (parent.fd) return UniqueFd{::openat(parent.fd.get(), name, flags)};
    const auto again = descend(top_.get(), below_top(parent));
    return again ? UniqueFd{::openat(again->get(), name, flags)} : UniqueFd{};
  }

  std::string_view below_top(const Directory& directory) const {
    std::string_view path = directory.path;
    path.remove_prefix(options_.prefix.size());
    if (path.starts_with('/')) path.remove_prefix(1);
    return path;
  }

  bool open_again(Directory& directory) const {
    auto again = descend(top_.get(), below_top(directory));
    if (!again) return false;
    directory.fd = std::move(*again);
    ++directory.open_directories;
    return true;
  }

  void leave_out(std::string_view path) {
    ++unreadable_;
    if (!options_.unreadable) return;
    const std::lock_guard lock{telling_};
    options_.unreadable(path);
  }

  void enter(const Directory& parent, const char* name, Worker& worker) {
    std::string path = parent.path;
    if (!path.empty()) path += '/';
    path += name;
    UniqueFd opened = parent.depth < kMostWalkDepth ? open_child(parent, name) : UniqueFd{};
    struct stat info{};
    if (!opened && parent.depth < kMostWalkDepth && errno == ENOENT) {
      ++vanished_;
      return;
    }
    if (!opened || ::fstat(opened.get(), &info) != 0) return leave_out(path);
    if (info.st_dev != parent.device && is_virtual(opened.get())) {
      ++not_entered_;
      return;
    }
    auto directory = std::make_shared<Directory>(std::move(opened), std::move(path), open_);
    directory->device = info.st_dev;
    directory->depth = parent.depth + 1;
    directory->scope =
        options_.ignored ? nullptr : read_ignore_scope(directory->fd.get(), directory->path, parent.scope);
    read(std::move(directory), worker);
  }

  /// Visits one name; returns whether it is a directory to read.
  bool visit(const Directory& directory, const char* name, Kind kind, Worker& worker) {
    if (name[0] == '.' && !options_.everything && (!options_.hidden || std::strcmp(name, ".git") == 0)) return false;
    std::string& path = worker.path;
    path.assign(directory.path);
    if (!path.empty()) path += '/';
    path += name;
    const bool is_directory = kind == Kind::directory;
    if (is_ignored(directory.scope.get(), path, is_directory)) return false;
    const WalkStep step =
        visit_({.kind = kind, .path = path, .name = name, .directory = directory.fd.get(), .thread = worker.number});
    if (step == WalkStep::stop) stop();
    return is_directory && step == WalkStep::go_on;
  }

  /// Reads a directory and visits its names. It puts the directories in it, and names for other threads, into the
  /// queue.
  void read(std::shared_ptr<Directory> directory, Worker& worker) {
    std::vector<Item> left;
    std::vector<Child> names;
    bool shared = false;
    for (;;) {
      if (stopping()) return;
      const long got = ::syscall(SYS_getdents64, directory->fd.get(), worker.block.data(), worker.block.size());
      if (got < 0 && errno == ENOENT) break;  // the directory was removed meanwhile
      if (got < 0) leave_out(directory->path);
      if (got <= 0) break;
      const bool sharing = waiting_ > 0 || started_ < options_.threads;
      for (long at = 0; at < got;) {
        const auto* entry = reinterpret_cast<const DirectoryEntry*>(worker.block.data() + at);
        at += entry->size;
        const char* name = entry->name;
        if (name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'))) continue;
        const Kind kind = kind_of(directory->fd.get(), *entry);
        if (options_.sorted || sharing) {
          names.push_back({name, kind});
        } else {
          if (stopping()) return;
          if (visit(*directory, name, kind, worker)) left.push_back({directory, {{name, kind}}, true});
        }
      }
      if (sharing && !options_.sorted) shared = share(directory, names, left, worker) || shared;
    }
    if (options_.sorted) {
      std::ranges::sort(names, std::ranges::greater{}, &Child::name);
      for (Child& child : names) left.push_back({directory, {std::move(child)}});
    }
    if (!shared && open_ > kMostOpen) directory->close();
    push(std::move(left));
  }

  /// Puts half of `names` into the queue for other threads and visits the rest.
  bool share(const std::shared_ptr<Directory>& directory, std::vector<Child>& names, std::vector<Item>& left,
             Worker& worker) {
    const bool gives = names.size() >= kWorthSharing;
    if (gives) {
      const auto half = names.begin() + static_cast<std::ptrdiff_t>(names.size() / 2);
      std::vector<Item> given;
      given.push_back({directory, {std::make_move_iterator(half), std::make_move_iterator(names.end())}});
      names.erase(half, names.end());
      push(std::move(given));
    }
    for (Child& child : names) {
      if (stopping()) break;
      if (visit(*directory, child.name.c_str(), child.kind, worker))
        left.push_back({directory, {std::move(child)}, true});
    }
    names.clear();
    return gives;  // true: the queue uses the descriptor
  }

  void process(Item item, Worker& worker) {
    if (item.visited) {
      enter(*item.directory, item.children.front().name.c_str(), worker);
      return;
    }
    // Only a sorted walk, which has one thread, leaves names of a closed directory in the queue.
    const bool was_closed = !item.directory->fd;
    if (was_closed && !open_again(*item.directory)) return leave_out(item.directory->path);
    std::vector<Item> left;
    for (Child& child : item.children) {
      if (stopping()) return;
      if (!visit(*item.directory, child.name.c_str(), child.kind, worker)) continue;
      if (options_.sorted) {
        enter(*item.directory, child.name.c_str(), worker);
      } else {
        left.push_back({item.directory, {std::move(child)}, true});
      }
    }
    if (was_closed) item.directory->close();
    push(std::move(left));
  }

  void push(std::vector<Item> items) {
    if (items.empty()) return;
    const std::lock_guard lock{mutex_};
    pending_ += items.size();
    std::ranges::move(items, std::back_inserter(queue_));
    if (started_ < options_.threads && (queue_.size() > 1 || !queue_.back().visited)) {
      const unsigned number = started_++;
      auto work = [this, number] {
        take_part([&] {
          Worker worker;
          worker.number = number;
          serve(worker);
        });
      };
      try {
        threads_.push_back(start_worker(std::move(work)));
      } catch (const std::system_error&) {
        // EAGAIN, pthread_create(3): the existing threads do all the work.
      }
    }
    ready_.notify_all();
  }

  void stop() {
    const std::lock_guard lock{mutex_};
    stopped_ = true;
    ready_.notify_all();
  }

  /// Runs a thread's share of the work. If it runs out of memory, the walk ends for all threads and `run()` reports it.
  template <class Work>
  void take_part(Work work) {
    try {
      work();
    } catch (const std::bad_alloc&) {
      out_of_memory_ = true;
      stop();
    }
  }

  /// Works until no work is left.
  void serve(Worker& worker) {
    std::unique_lock lock{mutex_};
    for (;;) {
      ++waiting_;
      ready_.wait(lock, [this] { return stopping() || !queue_.empty() || pending_ == 0; });
      --waiting_;
      if (queue_.empty() || stopping()) return;
      Item item = std::move(queue_.back());
      queue_.pop_back();
      lock.unlock();
      process(std::move(item), worker);
      lock.lock();
      if (--pending_ == 0 || stopping()) ready_.notify_all();
    }
  }

  const UniqueFd& top_;
  WalkOptions options_;
  const std::stop_token& stop_;
  const std::function<WalkStep(const WalkEntry&)>& visit_;
  std::atomic<bool> stopped_ = false;
  std::atomic<int> open_ = 0;
  std::atomic<std::uint64_t> unreadable_ = 0;
  std::atomic<std::uint64_t> vanished_ = 0;
  std::atomic<std::uint64_t> not_entered_ = 0;
  std::mutex telling_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::vector<Item> queue_;  // the newest first: depth first, so that few directories are open
  std::size_t pending_ = 0;  // items that wait or are being processed
  std::atomic<unsigned> waiting_ = 0;
  std::atomic<unsigned> started_ = 1;
  std::vector<std::thread> threads_;
  std::atomic<bool> out_of_memory_ = false;
};

}  // namespace

WalkSummary walk(const UniqueFd& directory, const WalkOptions& options, const std::stop_token& stop,
                 const std::function<WalkStep(const WalkEntry&)>& visit) {
  return Walk{directory, options, stop, visit}.run();
}

}  // namespace skiff::fs
