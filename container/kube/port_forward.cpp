#include "container/kube/port_forward.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/async/beside.hpp"
#include "base/async/deadline.hpp"
#include "base/async/with_timeout.hpp"
#include "container/kube/objects/resource.hpp"

namespace skiff::kube {
namespace {

using protocol::Stream;
using protocol::WebSocket;

constexpr std::string_view kSubprotocol = "v4.channel.k8s.io";
constexpr char kData = 0;
constexpr char kErrors = 1;
constexpr std::size_t kForwardPiece = 64 * 1024;
constexpr std::chrono::seconds kFirstMessages{30};
constexpr std::chrono::hours kForwardPatience{24};
/// The other side sends messages of at most 32 KiB.
constexpr std::size_t kLongestMessage = 1024 * 1024;

struct Pair {
  Stream ours;
  Stream theirs;
};

Result<Pair> make_pair(Executor executor, const std::string& peer) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return std::unexpected{system_error(errno, "create a socket pair")};
  }
  return Pair{Stream{executor, UniqueFd{ends[0]}, peer}, Stream{executor, UniqueFd{ends[1]}, peer}};
}

/// Passes bytes from the local end to the Pod until the local end is closed.
Task<> pump_up(WebSocket* socket, Stream* local) {
  std::vector<char> piece(kForwardPiece);
  const std::string_view channel{&kData, 1};
  for (;;) {
    auto got = co_await local->read_some(piece);
    if (!got) break;
    if (*got == 0) {
      // The protocol cannot end one direction alone: wait until the local end has closed the other one too.
      auto gone = co_await local->broken();
      if (!gone) co_return;
      break;
    }
    const std::array<std::string_view, 2> parts{channel, std::string_view{piece.data(), *got}};
    auto sent = co_await socket->send(WebSocket::Kind::binary, parts);
    if (!sent) break;
  }
  socket->abort();
}

/// Reads the first message of each channel: the port, two bytes, little endian.
Task<Result<>> read_port(WebSocket* socket, std::uint16_t port) {
  for (int channel = 0; channel < 2; ++channel) {
    SKIFF_CO_TRY(auto message, co_await socket->read());
    const std::string& bytes = message.payload;
    const auto byte = [&](std::size_t at) { return static_cast<unsigned>(static_cast<unsigned char>(bytes[at])); };
    if (bytes.size() != 3 || byte(0) > 1 || (byte(1) | byte(2) << 8) != port) {
      co_return fail(Errc::invalid_request, "the API server does not begin a port-forward as it should");
    }
  }
  co_return Result<>{};
}

}  // namespace

PortForward::PortForward(Executor executor, Transport* transport, std::string namespace_name, std::string pod,
                         std::uint16_t port)
    : executor_{executor},
      transport_{transport},
      namespace_name_{std::move(namespace_name)},
      pod_{std::move(pod)},
      port_{port},
      pumps_{executor} {}

PortForward::~PortForward() = default;

/// Passes bytes from the Pod to the local end until either ends.
Task<> PortForward::pump_down(WebSocket* socket, Stream* local) {
  for (;;) {
    auto message = co_await socket->read();
    if (!message) co_return;
    const std::string_view bytes{message->payload};
    if (bytes.size() <= 1) continue;
    if (bytes.front() == kErrors) trouble_ = std::string{bytes.substr(1)};
    if (bytes.front() != kData) continue;
    const std::array<std::string_view, 1> parts{bytes.substr(1)};
    auto written = co_await local->write(parts);
    if (!written) co_return;
  }
}

Task<> PortForward::pump(std::unique_ptr<WebSocket> socket, Stream local) {
  auto up = pump_up(socket.get(), &local);
  auto down = pump_down(socket.get(), &local);
  co_await run_beside(std::move(up), std::move(down));
  // Bytes that the local end has not read yet stay readable there.
  local.close();
  socket->abort();
}

std::string PortForward::where() const {
  return "pod " + namespace_name_ + "/" + pod_ + ", port " + std::to_string(port_);
}

Task<Outcome<Stream>> PortForward::open() {
  const std::string place = where();
  Call call{.target = object_path(kPods, namespace_name_, pod_, "portforward") + "?ports=" + std::to_string(port_),
            .what = "forward to " + place};
  SKIFF_CO_TRY(auto upgraded, co_await transport_->upgrade(std::move(call), std::string{kSubprotocol}));
  // A Pod that does not read for a while blocks its sender, as any TCP connection does.
  WebSocket::Options options{
      .side = protocol::Side::client, .max_message_bytes = kLongestMessage, .write_deadline = kForwardPatience};
  auto socket = std::make_unique<WebSocket>(std::move(upgraded.stream), std::move(upgraded.buffered), options);
  Result<> began;
  {
    Deadline limit{executor_, [&socket] { socket->abort(); }};
    limit.expires_after(kFirstMessages);
    began = co_await read_port(socket.get(), port_);
  }
  if (!began) co_return failed({began.error().code, "forward to " + place + ": " + began.error().message});
  auto pair = make_pair(executor_, place);
  if (!pair) co_return failed(std::move(pair.error()));
  trouble_.clear();
  pumps_.spawn("port-forward", pump(std::move(socket), std::move(pair->ours)));
  co_return std::move(pair->theirs);
}

Task<Result<Stream>> PortForward::dial(std::chrono::milliseconds limit) {
  auto stream = co_await within(std::chrono::steady_clock::now() + limit, open());
  if (!stream) co_return fail(Errc::timeout, "forward to " + where() + ": the API server does not answer in time");
  if (!*stream) co_return std::unexpected{std::move(stream->error())};
  co_return std::move(**stream);
}

protocol::Dialer PortForward::dialer() {
  return [this](std::chrono::milliseconds limit) { return dial(limit); };
}

Task<> PortForward::stop() {
  pumps_.cancel();
  co_await pumps_.join();
}

}  // namespace skiff::kube
