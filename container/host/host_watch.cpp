#include "container/host/host_watch.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "base/log/log.hpp"

namespace skiff::container {
namespace {

namespace files = std::filesystem;
using Descriptor = boost::asio::posix::descriptor_base;

constexpr std::uint32_t kOfAll =
    IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
/// Records are replaced by rename(2). Readers of the directory cause none of these events.
constexpr std::uint32_t kOfOne = IN_MOVED_TO | IN_DELETE | IN_CLOSE_WRITE | IN_ONLYDIR | IN_DONT_FOLLOW;
/// Most reads before other work of the reactor has its turn.
constexpr int kReadsInATurn = 16;

}  // namespace

class HostWatch::Listener final : public ListWatch {
 public:
  Listener(std::shared_ptr<HostWatch> watch, std::function<void()> changed, bool logs_end)
      : watch_{std::move(watch)},
        logs_end_{logs_end},
        place_{watch_->listeners_.insert(watch_->listeners_.end(), std::move(changed))} {}
  ~Listener() override { watch_->listeners_.erase(place_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] bool sees_all() const noexcept override { return logs_end_ && !watch_->is_blind_; }

 private:
  std::shared_ptr<HostWatch> watch_;
  bool logs_end_;
  std::list<std::function<void()>>::iterator place_;
};

HostWatch::HostWatch(Executor executor, files::path directory, UniqueFd source, int all)
    : directory_{std::move(directory)}, source_{executor, source.release()}, all_{all} {}

Result<std::shared_ptr<HostWatch>> HostWatch::open(Executor executor, files::path directory) {
  UniqueFd source{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
  if (!source) return std::unexpected{system_error(errno, "watch for changes")};
  const int all = ::inotify_add_watch(source.get(), directory.c_str(), kOfAll);
  if (all < 0) return std::unexpected{system_error(errno, "watch \"" + directory.string() + "\"")};
  std::shared_ptr<HostWatch> watch{new HostWatch{std::move(executor), std::move(directory), std::move(source), all}};
  watch->watch_each();
  watch->wait();
  return watch;
}

std::unique_ptr<ListWatch> HostWatch::join(std::shared_ptr<HostWatch> watch, std::function<void()> changed,
                                           bool logs_end) {
  return std::make_unique<Listener>(std::move(watch), std::move(changed), logs_end);
}

void HostWatch::watch_each() {
  std::error_code error;
  for (files::directory_iterator at{directory_, error}, end; !error && at != end; at.increment(error)) {
    if (std::error_code ignored; at->is_directory(ignored)) watch_one(at->path());
  }
}

void HostWatch::watch_one(const files::path& directory) {
  if (::inotify_add_watch(source_.native_handle(), directory.c_str(), kOfOne) >= 0) return;
  // It is gone again, or was never a sandbox.
  if (errno == ENOENT || errno == ENOTDIR) return;
  if (std::exchange(is_blind_, true)) return;
  log::warning("changes of some sandboxes are not noticed, and are looked for",
               {{"error", system_error(errno, "watch \"" + directory.string() + "\"").message}});
}

void HostWatch::wait() {
  source_.async_wait(Descriptor::wait_read, [weak = weak_from_this()](boost::system::error_code error) {
    const auto self = weak.lock();
    if (!self || error) return;
    self->take();
    self->wait();
  });
}

void HostWatch::take() {
  alignas(inotify_event) std::array<char, 16'384> buffer;
  for (int reads = 0; reads < kReadsInATurn; ++reads) {
    const ssize_t size = ::read(source_.native_handle(), buffer.data(), buffer.size());
    if (size <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* const name = buffer.data() + at + sizeof event;
      at += sizeof event + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) watch_each();
      if (event.wd != all_) continue;
      // Nothing that comes to the directory's name later is seen.
      if ((event.mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF)) != 0) is_blind_ = true;
      if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0 && (event.mask & IN_ISDIR) != 0) watch_one(directory_ / name);
    }
  }
  for (const auto& changed : listeners_) changed();
}

}  // namespace skiff::container
