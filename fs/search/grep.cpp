#include "fs/search/grep.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <utility>

#include "fs/path/descriptor.hpp"

namespace skiff::fs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBlockBytes = std::size_t{64} << 10U;  // bytes of matches, handed over together
constexpr std::size_t kBlockMatches = 256;
constexpr std::chrono::milliseconds kLinePatience{50};

std::size_t bytes_of(const LineMatch& line) {
  std::size_t size = line.text.size();
  for (const auto* lines : {&line.before, &line.after}) {
    for (const std::string& one : *lines) size += one.size();
  }
  return size;
}

class Grep {
 public:
  Grep(const LineMatcher& matcher, const GrepOptions& options, const std::stop_token& stop, const GrepSink& sink)
      : matcher_{matcher}, options_{options}, stop_{stop}, sink_{sink} {}

  /// The state of one thread: its search, and the matches that it has not handed over yet.
  struct Worker {
    std::optional<LineSearch> search;
    std::vector<GrepMatch> found;
    std::size_t bytes = 0;
    Clock::time_point since;
  };

  WalkStep visit(const WalkEntry& entry) {
    Worker& worker = workers_[entry.thread];
    if (!worker.found.empty() && Clock::now() - worker.since > kLinePatience && !hand_over(worker))
      return WalkStep::stop;
    if (entry.kind == WalkEntry::Kind::directory) {
      return options_.only && !options_.only->may_match_beneath(entry.path) ? WalkStep::leave_out : WalkStep::go_on;
    }
    if (entry.kind != WalkEntry::Kind::file) return WalkStep::go_on;
    if (options_.only && !options_.only->matches(entry.path)) return WalkStep::go_on;
    // The file may have become a FIFO since it was listed: opening it must not block.
    const UniqueFd file{
        ::openat(entry.directory, entry.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
    if (!file) {
      if (errno != ENOENT && errno != ELOOP) ++unreadable_;
      return WalkStep::go_on;
    }
    search(file, entry.path, worker);
    return stopped_ ? WalkStep::stop : WalkStep::go_on;
  }

  void search(const UniqueFd& file, std::string_view path, Worker& worker) {
    struct stat info{};
    if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return;
    const auto size = static_cast<std::uint64_t>(info.st_size);
    if (size > options_.largest_file) {
      ++too_large_;
      return;
    }
    if (size == 0 && is_private_to_kernel(file.get(), info.st_mode)) {
      ++unreadable_;
      return;
    }
    if (!worker.search) worker.search.emplace(matcher_, options_.lines);
    bool matched = false;
    // A size of 0 may be that of a virtual file with contents: below, such a file is read up to `largest_file`.
    const auto take = [&](LineMatch line) {
      if (taken_.fetch_add(1) >= options_.most) {
        stopped_ = true;
        return false;
      }
      if (!std::exchange(matched, true)) ++files_;
      return add(path, std::move(line), worker);
    };
    const auto end = worker.search->search(file.get(), size == 0 ? options_.largest_file : size, take, stop_);
    if (stop_.stop_requested()) stopped_ = true;
    if (end == LineSearch::End::unreadable) ++unreadable_;
    if (end == LineSearch::End::binary) ++binary_;
    if (end == LineSearch::End::searched || end == LineSearch::End::stopped) ++searched_;
  }

  bool add(std::string_view path, LineMatch line, Worker& worker) {
    if (worker.found.empty()) worker.since = Clock::now();
    worker.bytes += bytes_of(line) + path.size();
    worker.found.push_back({std::string{path}, std::move(line)});
    return (worker.found.size() < kBlockMatches && worker.bytes < kBlockBytes) || hand_over(worker);
  }

  bool hand_over(Worker& worker) {
    const std::lock_guard lock{mutex_};
    if (gone_) return false;
    matches_ += worker.found.size();
    if (!sink_(worker.found)) gone_ = stopped_ = true;
    worker.found.clear();
    worker.bytes = 0;
    return !gone_;
  }

  GrepSummary finish(const WalkSummary& walked) {
    for (Worker& worker : workers_) {
      if (!worker.found.empty()) (void)hand_over(worker);
    }
    return {.files = files_,
            .matches = matches_,
            .searched = searched_,
            .unreadable = unreadable_ + walked.unreadable,
            .too_large = too_large_,
            .binary = binary_,
            .truncated = stopped_ || walked.stopped};
  }

  Worker& only_worker() { return workers_.front(); }

 private:
  const LineMatcher& matcher_;
  const GrepOptions& options_;
  const std::stop_token& stop_;
  const GrepSink& sink_;
  std::array<Worker, 4> workers_;
  std::atomic<std::uint64_t> taken_ = 0, files_ = 0, searched_ = 0, unreadable_ = 0, too_large_ = 0, binary_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  bool gone_ = false;  // the sink wants no more matches
  std::uint64_t matches_ = 0;
};

}  // namespace

GrepSummary grep(const UniqueFd& directory, const LineMatcher& matcher, const GrepOptions& options,
                 const std::stop_token& stop, const GrepSink& sink) {
  Grep searching{matcher, options, stop, sink};
  const WalkSummary walked =
      walk(directory, options.walk, stop, [&](const WalkEntry& entry) { return searching.visit(entry); });
  return searching.finish(walked);
}

GrepSummary grep_file(const UniqueFd& file, const std::string& path, const LineMatcher& matcher,
                      const GrepOptions& options, const std::stop_token& stop, const GrepSink& sink) {
  Grep searching{matcher, options, stop, sink};
  searching.search(file, path, searching.only_worker());
  return searching.finish({});
}

}  // namespace skiff::fs
