#include "sessions/shell/state.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/log/log.hpp"

namespace skiff::sessions {
namespace {

// Parsing this much takes about a millisecond, for which the reactor may be blocked.
constexpr std::size_t kReadHere = std::size_t{128} << 10U;

std::string content(int file, std::size_t size) {
  std::string text(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(file, text.data() + done, size - done, static_cast<off_t>(done));
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

/// True when the shell began to read its snapshot and did not reach the command.
bool ended_reading(std::string_view dump) {
  return dump.ends_with(ShellSnapshot::kReading);
}

}  // namespace

ShellRun::ShellRun(std::shared_ptr<ShellState> state, Names own, std::string cwd, bool saves)
    : state_{std::move(state)},
      before_{state_->snapshot},
      generation_{state_->generation},
      own_{std::move(own)},
      cwd_{std::move(cwd)},
      saves_{saves} {}

Result<UniqueFd> ShellRun::open_dump() {
  if (!saves_) return UniqueFd{};
  UniqueFd file{::memfd_create("skiff-state", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!file || ::ftruncate(file.get(), kLargestDump) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0) {
    return std::unexpected{system_error(errno, "make a file for the shell's state")};
  }
  dump_.reset(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  if (!dump_) return std::unexpected{system_error(errno, "make a file for the shell's state")};
  return file;
}

Task<StateSaved> ShellRun::conclude(bool exited, BlockingPool& pool) {
  const UniqueFd dump = std::move(dump_);
  if (!saves_ || !exited || !dump) co_return StateSaved::discarded;
  // The descriptor shares the shell's open file, so its offset is the size of the dump.
  const off_t size = ::lseek(dump.get(), 0, SEEK_CUR);
  if (size <= 0 || static_cast<std::size_t>(size) > kLargestDump) co_return StateSaved::discarded;
  auto read = [&dump, size] { return ShellSnapshot::read(content(dump.get(), static_cast<std::size_t>(size))); };
  std::optional<ShellSnapshot> after;
  if (static_cast<std::size_t>(size) <= kReadHere) {
    after = read();
  } else {
    after = co_await pool.run(std::move(read));
  }
  if (!after) {
    if (ended_reading(content(dump.get(), std::min(static_cast<std::size_t>(size), kReadHere))) &&
        state_->generation == generation_) {
      log::warning("a session's shell state can't be read again: it is forgotten");
      state_->forget();
    }
    co_return StateSaved::discarded;
  }
  if (state_->generation != generation_) co_return StateSaved::conflict;
  after->put_back(own_, before_.get());
  if (after->stayed() || after->cwd().empty()) after->keep_cwd(std::move(cwd_));
  state_->snapshot = std::make_shared<const ShellSnapshot>(std::move(*after));
  ++state_->generation;
  co_return StateSaved::saved;
}

}  // namespace skiff::sessions
