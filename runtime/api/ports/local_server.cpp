#include "runtime/api/ports/local_server.hpp"

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "protocol/http/client.hpp"
#include "protocol/net/address.hpp"

namespace skiff::runtime::api {
namespace {

std::string text_of(int socket, int (*ask)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (ask(socket, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  return protocol::Address::from_socket(storage, length).text();
}

/// A connection to an ephemeral port where no server listens can get that port as its own. TCP's simultaneous open (RFC
/// 9293, 3.5) then connects it to itself.
bool is_its_own_peer(const protocol::Stream& stream) {
  return text_of(stream.fd(), ::getsockname) == text_of(stream.fd(), ::getpeername);
}

}  // namespace

Task<Result<protocol::Stream>> connect_to_port(std::uint16_t port, std::chrono::milliseconds limit, Executor executor) {
  for (const std::string_view host : {std::string_view{"127.0.0.1"}, std::string_view{"::1"}}) {
    SKIFF_CO_TRY(auto address, protocol::Address::ip(host, port));
    auto stream = co_await protocol::connect(std::move(address), limit, executor);
    if (stream && !is_its_own_peer(*stream)) co_return stream;
    if (stream) continue;
    const Errc code = stream.error().code;
    if (code == Errc::timeout || code == Errc::resource_exhausted || code == Errc::cancelled) co_return stream;
  }
  co_return fail(Errc::port_not_listening, "nothing listens on port " + std::to_string(port) + " at 127.0.0.1 or ::1",
                 "port");
}

}  // namespace skiff::runtime::api
