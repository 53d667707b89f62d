#include "runtime/process/process_stats.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace skiff::runtime {
namespace {

double seconds(const timeval& time) noexcept {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

/// Read before main, shortly after the start of the process.
const auto kStarted = std::chrono::system_clock::now();

}  // namespace

double cpu_seconds() noexcept {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

std::uint64_t resident_bytes() {
  std::ifstream in{"/proc/self/statm"};
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  in >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t open_files() {
  std::error_code error;
  std::uint64_t count = 0;
  for (auto it = std::filesystem::directory_iterator{"/proc/self/fd", error};
       !error && it != std::filesystem::directory_iterator{}; it.increment(error)) {
    ++count;
  }
  return count == 0 ? 0 : count - 1;  // not the descriptor that reads the directory
}

std::uint64_t most_open_files() noexcept {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

double start_time_seconds() {
  return std::chrono::duration<double>(kStarted.time_since_epoch()).count();
}

}  // namespace skiff::runtime
