#include "fs/watch/watch.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "fs/path/temporary_name.hpp"
#include "fs/watch/watched_directories.hpp"

namespace skiff::fs {
namespace {

using Type = WatchEvent::Type;

constexpr std::size_t kEventBlock = std::size_t{64} << 10U;
constexpr std::size_t kMostUnfinished = 64;  // temporary names moved out of sight; if more, all are forgotten
constexpr int kMostBlocks = 64;              // blocks per drain; then other watches have their turn

/// Whether the name has the form that the kernel uses for a nameless file (open(2), O_TMPFILE), such as a running
/// upload: "#" and the number of its inode. A real file may have such a name, too.
bool is_number_of_inode(std::string_view name) {
  return name.starts_with('#') && name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

}  // namespace

struct Watch::State {
  State(UniqueFd directory, const WatchOptions& options, UniqueFd opened)
      : top{std::move(directory)},
        inotify{std::move(opened)},
        directories{inotify, top, options.prefix, options.most_directories, options.recursive},
        log{options.most_events, options.first_cursor},
        find_again{options.find_again},
        levels_above{options.levels_above},
        recursive{options.recursive},
        hold{options.hold} {}

  struct Moved {
    int parent;
    std::string name;
    bool operator==(const Moved&) const = default;
  };
  /// A directory was moved to the name of another one, which was exchanged with it, or was empty and is removed.
  struct Exchange {
    Moved from;
    Moved to;
    int displaced;
  };

  Result<bool> drain(Clock::time_point now) {
    for (int blocks = 0; blocks < kMostBlocks; ++blocks) {
      const ssize_t got = ::read(inotify.get(), block.data(), block.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno != EAGAIN) return std::unexpected{system_error(errno, "read the events of a watch")};
      if (got <= 0) return finish(now);
      for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
        inotify_event event{};
        std::memcpy(&event, block.data() + at, sizeof event);
        const char* name = event.len > 0 ? block.data() + at + sizeof event : "";
        take(event, name, now);
        at += sizeof event + event.len;
      }
      expire(now);
    }
    log.end_batch();
    return true;
  }

  /// Ends a drain whose queue is empty.
  Result<bool> finish(Clock::time_point now) {
    directories.forget_told();
    if (unfinished.size() > kMostUnfinished) unfinished.clear();
    expire(now);
    log.end_batch();
    if (!std::exchange(overflowed, false) || !recursive || gone) return false;
    // Directories may have come and gone unseen, so start again. The kernel assigns new numbers, so remaining events of
    // the old ones are ignored.
    moved.clear();
    swapped.reset();
    directories.remove_all();
    if (auto started = directories.start({}); !started) {
      if (started.error().code == Errc::path_not_found) gone = true;
      return std::unexpected{started.error()};
    }
    return true;
  }

  void expire(Clock::time_point now) {
    for (const std::uint32_t cookie : log.expire(now)) {
      // A directory that was moved out of sight is no longer watched.
      if (const auto from = moved.find(cookie); from != moved.end()) {
        directories.drop(from->second.parent, from->second.name);
        moved.erase(from);
      }
    }
  }

  void take(const inotify_event& event, const std::string& name, Clock::time_point now) {
    if ((event.mask & IN_Q_OVERFLOW) != 0) {
      overflowed = true;
      expire(Clock::time_point::max());
      log.add({.type = Type::overflow, .path = directories.path_of(WatchDirectories::kNone)});
      return;
    }
    if (gone) return;  // events in a directory that is gone do not count
    if (above.contains(event.wd) && (event.mask & (IN_DELETE | IN_MOVE_SELF)) != 0) look_whether_gone();
    if (!directories.knows(event.wd)) return;
    const bool is_directory = (event.mask & IN_ISDIR) != 0;
    // A removed directory gets this event because its link count has changed; an exchanged one does not.
    if (swapped && swapped->displaced == event.wd && name.empty() && (event.mask & (IN_ATTRIB | IN_DELETE_SELF)) != 0) {
      swapped.reset();
      directories.remove(event.wd, false);
      return;
    }
    if ((event.mask & IN_MOVE_SELF) != 0) {
      if (directories.is_top(event.wd)) look_whether_gone();
      return;
    }
    if ((event.mask & (IN_DELETE_SELF | IN_IGNORED | IN_UNMOUNT)) != 0) {
      // The removal of any other directory is reported by the watch on its parent.
      if (directories.is_top(event.wd)) end();
      if ((event.mask & IN_IGNORED) != 0) directories.remove(event.wd, true);
      return;
    }
    if (name.empty()) return;
    if (is_temporary(name)) return pass_over(event, name);
    const std::string path = directories.path_of(event.wd, name);
    if ((event.mask & IN_CREATE) != 0) {
      if (directories.take_told(event.wd, name)) return;
      appear(event.wd, name, path, is_directory);
    } else if ((event.mask & IN_DELETE) != 0) {
      (void)directories.take_told(event.wd, name);
      if (is_directory) directories.drop(event.wd, name);
      log.add({.type = Type::deleted, .path = path, .is_directory = is_directory});
    } else if ((event.mask & IN_MOVED_FROM) != 0) {
      (void)directories.take_told(event.wd, name);
      log.hold(event.cookie, {.type = Type::deleted, .path = path, .is_directory = is_directory}, now + hold);
      moved.insert_or_assign(event.cookie, Moved{event.wd, name});
    } else if ((event.mask & IN_MOVED_TO) != 0) {
      arrive(event, name, path, is_directory);
    } else if (!is_number_of_inode(name) || directories.holds(event.wd, name)) {
      log.add({.type = Type::modified, .path = path, .is_directory = is_directory});
    }
  }

  /// Handles an event of a temporary name, and reports none. A new file is reported when it gets its final name, and a
  /// file that is moved from its own name to a temporary one is reported as deleted, except in an exchange.
  void pass_over(const inotify_event& event, const std::string& name) {
    if ((event.mask & IN_MOVED_FROM) != 0) unfinished.insert_or_assign(event.cookie, name);
    if ((event.mask & IN_MOVED_TO) == 0) return;
    unfinished.erase(event.cookie);
    const auto from = moved.find(event.cookie);
    if (from == moved.end()) return;
    const bool is_exchange = published.parent == event.wd && published.name == from->second.name && exchanged == name;
    if (is_exchange) {
      // The old file now has the temporary name of the new one; the event of the final name was reported.
      log.forget(event.cookie);
    } else {
      log.give_up(event.cookie);
      directories.drop(from->second.parent, from->second.name);
    }
    moved.erase(from);
  }

  /// Reports a finished file that has got its final name.
  void publish(const inotify_event& event, const std::string& name, const std::string& path, bool is_directory) {
    const auto was = unfinished.find(event.cookie);
    const bool replaces = becomes(was->second) == Becomes::replacement;
    published = {event.wd, name};
    exchanged = std::move(was->second);
    unfinished.erase(was);
    if (directories.take_told(event.wd, name)) return;
    if (is_directory || !replaces) return appear(event.wd, name, path, is_directory);
    log.add({.type = Type::modified, .path = path});
  }

  /// The descriptor of the directory keeps it alive, so its own watch does not report its removal; the watch on its
  /// parent does. Without the right to read the parent, the removal is not reported.
  void watch_above() {
    UniqueFd below;
    struct stat mine{};
    if (::fstat(top.get(), &mine) != 0) return;
    for (std::size_t level = 0; level <= levels_above; ++level) {
      UniqueFd parent{::openat(level == 0 ? top.get() : below.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC)};
      struct stat its{};
      if (!parent || ::fstat(parent.get(), &its) != 0) return;
      if (mine.st_ino == its.st_ino && mine.st_dev == its.st_dev) return;  // "/" has no parent
      const std::string path = "/proc/self/fd/" + std::to_string(parent.get());
      const std::uint32_t mask = (level == 0 ? IN_DELETE : 0U) | IN_MOVE_SELF | IN_ONLYDIR;
      const int watch = ::inotify_add_watch(inotify.get(), path.c_str(), mask);
      if (watch >= 0) above.insert(watch);
      mine = its;
      below = std::move(parent);
    }
  }

  void look_whether_gone() {
    struct stat info{};
    if (::fstat(top.get(), &info) != 0) return;
    if (info.st_nlink == 0) return end();
    if (!find_again) return;
    const auto found = find_again();
    struct stat now{};
    const bool same =
        found && ::fstat(found->get(), &now) == 0 && now.st_ino == info.st_ino && now.st_dev == info.st_dev;
    if (!same) end();
  }

  void end() {
    if (std::exchange(gone, true)) return;
    log.add({.type = Type::deleted, .path = directories.path_of(WatchDirectories::kNone), .is_directory = true});
  }

  void appear(int parent, const std::string& name, const std::string& path, bool is_directory) {
    log.add({.type = Type::created, .path = path, .is_directory = is_directory});
    if (!is_directory) return;
    take_over(parent, name);
    adopt(parent, name, true);
  }

  /// A new directory has taken this name: forgets the one that was moved away from it, which is scanned anew if it
  /// appears elsewhere.
  void take_over(int parent, const std::string& name) {
    for (auto& [cookie, from] : moved) {
      if (from.parent != parent || from.name != name) continue;
      directories.drop(parent, name);
      from.parent = WatchDirectories::kNone;
    }
  }

  void adopt(int parent, const std::string& name, bool tell) {
    directories.adopt(
        parent, name,
        [this, tell](const std::string& found, bool directory) {
          if (tell) log.add({.type = Type::created, .path = found, .is_directory = directory});
        },
        [this](const std::string& missed, const Error&) { log.add({.type = Type::overflow, .path = missed}); });
  }

  void arrive(const inotify_event& event, const std::string& name, const std::string& path, bool is_directory) {
    if (unfinished.contains(event.cookie)) return publish(event, name, path, is_directory);
    const bool told = directories.take_told(event.wd, name);
    const auto from = moved.find(event.cookie);
    if (from == moved.end() || !log.pair(event.cookie, path)) {
      if (!told) appear(event.wd, name, path, is_directory);
      return;
    }
    const Moved old = std::move(from->second);
    moved.erase(from);
    if (!is_directory) return;
    take_over(event.wd, name);
    // The kernel reports an exchange (renameat2(2)) as two renames. The first event has moved both directories already.
    const auto both = std::exchange(swapped, std::nullopt);
    if (both && both->from == Moved{event.wd, name} && both->to == old) return;
    const int displaced = told ? WatchDirectories::kNone : directories.exchange(old.parent, old.name, event.wd, name);
    if (displaced != WatchDirectories::kNone) {
      swapped = {.from = old, .to = {event.wd, name}, .displaced = displaced};
      return;
    }
    if (!directories.move(old.parent, old.name, event.wd, name)) adopt(event.wd, name, false);
  }

  UniqueFd top;
  UniqueFd inotify;
  WatchDirectories directories;
  WatchLog log;
  const std::function<Result<UniqueFd>()> find_again;
  const std::size_t levels_above;
  const bool recursive;
  const std::chrono::milliseconds hold;
  std::unordered_map<std::uint32_t, Moved> moved;             // first halves of renames, by cookie
  std::unordered_map<std::uint32_t, std::string> unfinished;  // temporary names that were moved, by cookie
  Moved published = {WatchDirectories::kNone, {}};            // the final name published last
  std::string exchanged;                                      // its temporary name before
  std::optional<Exchange> swapped = {};                       // an exchange whose second half may come
  std::unordered_set<int> above;                              // watches on the directories above this one
  bool overflowed = false;
  bool gone = false;
  std::vector<char> block = std::vector<char>(kEventBlock);
};

Watch::Watch(std::unique_ptr<State> state) noexcept : state_{std::move(state)} {}
Watch::~Watch() = default;
Watch::Watch(Watch&&) noexcept = default;
Watch& Watch::operator=(Watch&&) noexcept = default;

Result<Watch> Watch::open(UniqueFd directory, const WatchOptions& options, const std::stop_token& stop) {
  UniqueFd inotify{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
  if (!inotify && errno == EMFILE) {
    return fail(Errc::resource_exhausted,
                "the kernel allows no more inotify instances: fs.inotify.max_user_instances or the limit of open files "
                "is reached");
  }
  if (!inotify) return std::unexpected{system_error(errno, "begin to watch")};
  auto state = std::make_unique<State>(std::move(directory), options, std::move(inotify));
  if (auto started = state->directories.start(stop); !started) return std::unexpected{started.error()};
  state->watch_above();
  return Watch{std::move(state)};
}

int Watch::fd() const noexcept {
  return state_->inotify.get();
}

Result<bool> Watch::drain(Clock::time_point now) {
  return state_->drain(now);
}

std::optional<Watch::Clock::time_point> Watch::deadline() const {
  return state_->log.deadline();
}

std::vector<WatchEvent> Watch::after(std::uint64_t cursor, std::size_t most) const {
  return state_->log.after(cursor, most);
}

std::uint64_t Watch::newest() const noexcept {
  return state_->log.newest();
}

bool Watch::ended() const noexcept {
  return state_->gone;
}

}  // namespace skiff::fs
