#include "container/egress/cluster/preamble.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace skiff::container::egress {
namespace {

/// The token in a line with its end.
std::optional<std::string> token_in(std::string_view line) {
  if (!line.starts_with(kPreamble) || !line.ends_with("\r\n")) return std::nullopt;
  line.remove_prefix(kPreamble.size());
  line.remove_suffix(2);
  const bool is_token = !line.empty() && std::ranges::all_of(line, [](char c) { return c > ' ' && c < '\x7f'; });
  return is_token ? std::optional{std::string{line}} : std::nullopt;
}

}  // namespace

Task<std::optional<std::string>> read_preamble(boost::asio::posix::basic_stream_descriptor<Executor>* socket) {
  std::string line;
  std::array<char, kLongestPreamble> block{};
  while (line.size() < kLongestPreamble) {
    const std::size_t room = kLongestPreamble - line.size();
    // The bytes behind the line stay in the socket.
    const ssize_t seen = ::recv(socket->native_handle(), block.data(), room, MSG_PEEK | MSG_DONTWAIT);
    if (seen < 0 && (errno == EAGAIN || errno == EINTR)) {
      co_await socket->async_wait(boost::asio::posix::descriptor_base::wait_read, use_task);
      continue;
    }
    if (seen == 0 && line.empty()) co_return std::string{};
    if (seen <= 0) co_return std::nullopt;
    const std::string_view bytes{block.data(), static_cast<std::size_t>(seen)};
    const std::size_t end = bytes.find('\n');
    const std::size_t taken = end == std::string_view::npos ? bytes.size() : end + 1;
    if (::recv(socket->native_handle(), block.data(), taken, MSG_DONTWAIT) != static_cast<ssize_t>(taken)) {
      co_return std::nullopt;
    }
    line.append(block.data(), taken);
    if (end != std::string_view::npos) co_return token_in(line);
    // Another protocol waits for an answer, and sends no end of line.
    const std::size_t known = std::min(line.size(), kPreamble.size());
    if (line.substr(0, known) != kPreamble.substr(0, known)) co_return std::nullopt;
  }
  co_return std::nullopt;
}

}  // namespace skiff::container::egress
