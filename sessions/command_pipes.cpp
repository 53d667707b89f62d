#include "sessions/command_pipes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "sessions/spawn/terminal.hpp"

namespace skiff::sessions {
namespace {

/// Describes the current errno.
std::unexpected<SpawnFailure> pipe_failure(std::string_view attempted) {
  const int error = errno;
  return std::unexpected{SpawnFailure{"pipe", error, system_error(error, attempted).message}};
}

/// Sets one end of a pipe non-blocking; the other end keeps its flags.
void set_non_blocking(int fd) {
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
}

/// Returns false on failure: the spawner would use /dev/null for a missing descriptor.
bool duplicate(const UniqueFd& fd, UniqueFd& copy) {
  copy.reset(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  return copy.get() >= 0;
}

bool create_pipe(UniqueFd& read, UniqueFd& write) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  read.reset(ends[0]);
  write.reset(ends[1]);
  return true;
}

ino_t inode_of(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 ? info.st_ino : 0;
}

std::expected<CommandPipes, SpawnFailure> open_to_terminal(TerminalSize size) {
  CommandPipes pipes;
  auto terminal = open_terminal(size);
  if (const int error = errno; !terminal) return std::unexpected{SpawnFailure{"pipe", error, terminal.error().message}};
  pipes.child_in = std::move(terminal->slave);
  pipes.out = std::move(terminal->master);
  for (UniqueFd* const side : {&pipes.child_out, &pipes.child_err}) {
    if (!duplicate(pipes.child_in, *side)) return pipe_failure("duplicate a descriptor");
  }
  for (UniqueFd* const side : {&pipes.feed, &pipes.terminal}) {
    if (!duplicate(pipes.out, *side)) return pipe_failure("duplicate a descriptor");
  }
  pipes.stdin_inode = inode_of(pipes.child_in.get());
  return pipes;
}

}  // namespace

std::expected<CommandPipes, SpawnFailure> CommandPipes::open(const CommandSpec& spec) {
  if (spec.terminal) return open_to_terminal(*spec.terminal);
  CommandPipes pipes;
  if (!spec.input.empty() || spec.input_open) {
    if (!create_pipe(pipes.child_in, pipes.feed)) return pipe_failure("make a pipe");
    set_non_blocking(pipes.feed.get());
    pipes.stdin_inode = inode_of(pipes.child_in.get());
  }
  if (!create_pipe(pipes.out, pipes.child_out)) return pipe_failure("make a pipe");
  set_non_blocking(pipes.out.get());
  if (spec.merge_stderr) {
    if (!duplicate(pipes.child_out, pipes.child_err)) return pipe_failure("duplicate a descriptor");
    return pipes;
  }
  if (!create_pipe(pipes.err, pipes.child_err)) return pipe_failure("make a pipe");
  set_non_blocking(pipes.err.get());
  return pipes;
}

}  // namespace skiff::sessions
