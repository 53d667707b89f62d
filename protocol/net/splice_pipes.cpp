#include "protocol/net/splice_pipes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace skiff::protocol {
namespace {

constexpr std::size_t kSpare = 2;
constexpr unsigned kFlags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;

bool would_block(int error) {
  return error == EAGAIN || error == EINTR;
}

/// There is no such call for this socket, or a filter of system calls forbids it.
bool is_unsupported(int error) {
  return error == EINVAL || error == ENOSYS || error == EPERM;
}

}  // namespace

SplicePipes::Pipe::~Pipe() {
  // Bytes that are left in a pipe belong to no other connection.
  if (ends_.in && size_ == 0 && of_->spare_.size() < kSpare) of_->spare_.push_back(std::move(ends_));
}

std::optional<Result<std::size_t>> SplicePipes::Pipe::fill(Stream* from) {
  const ssize_t moved = ::splice(from->fd(), nullptr, ends_.in.get(), nullptr, kBytes, kFlags);
  if (moved < 0 && would_block(errno)) return std::nullopt;
  if (moved < 0 && is_unsupported(errno)) {
    of_->is_useless_ = true;
    return std::nullopt;
  }
  if (moved < 0) return std::unexpected{system_error(errno, "read from the connection")};
  size_ = static_cast<std::size_t>(moved);
  from->note({.received = size_});
  return size_;
}

Result<std::size_t> SplicePipes::Pipe::drain(Stream* to) {
  const ssize_t moved = ::splice(ends_.out.get(), nullptr, to->fd(), nullptr, size_, kFlags);
  if (moved < 0 && would_block(errno)) return 0;
  if (moved < 0) return std::unexpected{system_error(errno, "write to the connection")};
  const auto taken = static_cast<std::size_t>(moved);
  size_ -= taken;
  to->note({.sent = taken});
  return taken;
}

std::optional<SplicePipes::Pipe> SplicePipes::take(const std::string& who) {
  if (is_useless_ || !taken_.leaves_room(who)) return std::nullopt;
  Ends ends;
  if (!spare_.empty()) {
    ends = std::move(spare_.back());
    spare_.pop_back();
  } else {
    std::array<int, 2> made{};
    if (::pipe2(made.data(), O_CLOEXEC | O_NONBLOCK) != 0) return std::nullopt;
    ends = {.out = UniqueFd{made[0]}, .in = UniqueFd{made[1]}};
    // Beyond a limit of the system (pipe(7)) it stays small, and a copy is faster.
    if (::fcntl(ends.in.get(), F_SETPIPE_SZ, static_cast<int>(kBytes)) < 0) return std::nullopt;
  }
  return Pipe{this, std::move(ends), Shares::Part{taken_, who}};
}

}  // namespace skiff::protocol
