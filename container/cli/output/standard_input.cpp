#include "container/cli/output/standard_input.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "base/unique_fd.hpp"

namespace skiff::container {
namespace {

constexpr std::size_t kStdinBlock = std::size_t{256} << 10U;

Result<TarSummary> read_all(int leave, const TarSink& sink) {
  TarSummary summary;
  for (;;) {
    SKIFF_TRY(auto block, read_stdin(leave, kStdinBlock));
    if (block.empty()) return summary;
    summary.bytes += block.size();
    if (!sink(std::move(block))) return fail(Errc::cancelled, "the receiver took no more");
  }
}

}  // namespace

Result<std::string> read_stdin(int leave, std::size_t most) {
  for (;;) {
    std::array<pollfd, 2> waiting{pollfd{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                  pollfd{.fd = leave, .events = POLLIN, .revents = 0}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) {
      return std::unexpected{system_error(errno, "wait for stdin")};
    }
    if (waiting[1].revents != 0) return fail(Errc::cancelled, "the receiver wants no more of stdin");
    if (waiting[0].revents == 0) continue;
    std::string block(most, '\0');
    const ssize_t got = ::read(STDIN_FILENO, block.data(), block.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return std::unexpected{system_error(errno, "read stdin")};
    block.resize(static_cast<std::size_t>(got));
    return block;
  }
}

Result<ByteProducer> standard_input() {
  auto leave = std::make_shared<UniqueFd>(::eventfd(0, EFD_CLOEXEC));
  if (!*leave) return std::unexpected{system_error(errno, "create an eventfd")};
  return ByteProducer{.produce = [leave](const TarSink& sink) { return read_all(leave->get(), sink); },
                      .interrupt =
                          [leave] {
                            const std::uint64_t one = 1;
                            [[maybe_unused]] const ssize_t written = ::write(leave->get(), &one, sizeof one);
                          }};
}

}  // namespace skiff::container
