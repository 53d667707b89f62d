#include "runtime/process/file_watch.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

namespace skiff::runtime {
namespace asio = boost::asio;
namespace {

/// Quiet time after a change: a certificate and its key are written one after the other.
constexpr std::chrono::milliseconds kQuiet{100};

constexpr std::uint32_t kChanges =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;

}  // namespace

Result<FileWatch> FileWatch::open(const std::vector<std::string>& files) {
  UniqueFd source{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
  if (!source) return std::unexpected{system_error(errno, "watch files for changes")};
  std::vector<std::string> directories;
  for (const std::string& file : files) {
    std::string directory = std::filesystem::path{file}.parent_path().string();
    if (directory.empty()) directory = ".";
    if (std::ranges::find(directories, directory) == directories.end()) directories.push_back(std::move(directory));
  }
  for (const std::string& directory : directories) {
    if (::inotify_add_watch(source.get(), directory.c_str(), kChanges) < 0) {
      return std::unexpected{system_error(errno, "watch the directory \"" + directory + '"')};
    }
  }
  return FileWatch{std::move(source), std::move(directories)};
}

void FileWatch::add_watches() const {
  // A directory that replaced another of its name has no watch yet. Adding a watch twice has no effect.
  for (const std::string& directory : directories_) ::inotify_add_watch(source_.get(), directory.c_str(), kChanges);
}

Task<> FileWatch::watch(std::function<void()> changed) {
  const Executor executor = co_await asio::this_coro::executor;
  asio::posix::basic_stream_descriptor<Executor> source{executor, source_.get()};
  // Release the descriptor: `source_` owns it.
  struct Release {
    asio::posix::basic_stream_descriptor<Executor>& source;
    ~Release() { source.release(); }
  } const release{source};
  Deadline quiet{executor, [this, &changed] {
                   add_watches();
                   changed();
                 }};
  std::array<char, 4096> events{};
  for (;;) {
    co_await source.async_wait(asio::posix::descriptor_base::wait_read, use_task);
    while (::read(source.native_handle(), events.data(), events.size()) > 0) quiet.expires_after(kQuiet);
  }
}

}  // namespace skiff::runtime
