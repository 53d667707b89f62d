#include "runtime/file_watch.hpp"

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

/// A certificate and its key are written one after the other.
constexpr std::chrono::milliseconds kQuiet{100};

constexpr std::uint32_t kChanges =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;

}  // namespace

Result<FileWatch> FileWatch::open(const std::vector<std::string>& files) {
  UniqueFd source{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
  if (!source) return std::unexpected{system_error(errno, "watch files for changes")};
  std::vector<std::string> folders;
  for (const std::string& file : files) {
    std::string folder = std::filesystem::path{file}.parent_path().string();
    if (folder.empty()) folder = ".";
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(std::move(folder));
  }
  for (const std::string& folder : folders) {
    if (::inotify_add_watch(source.get(), folder.c_str(), kChanges) < 0) {
      return std::unexpected{system_error(errno, "watch the directory \"" + folder + '"')};
    }
  }
  return FileWatch{std::move(source), std::move(folders)};
}

void FileWatch::add_watches() const {
  // A folder that was replaced by another one of its name has no watch; one that has keeps it.
  for (const std::string& folder : folders_) ::inotify_add_watch(source_.get(), folder.c_str(), kChanges);
}

Task<> FileWatch::watch(std::function<void()> changed) {
  const Executor executor = co_await asio::this_coro::executor;
  asio::posix::basic_stream_descriptor<Executor> source{executor, source_.get()};
  // The number stays ours.
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
