#include "container/net/resolver.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace skiff::net {
namespace {

using protocol::Address;

Result<std::vector<Address>> look_up(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failure == EAI_SYSTEM) return std::unexpected{system_error(errno, "look up \"" + host + "\"")};
  if (failure != 0) {
    const bool unknown = failure == EAI_NONAME || failure == EAI_NODATA;
    return fail(unknown ? Errc::not_found : Errc::io_error, "look up \"" + host + "\": " + ::gai_strerror(failure));
  }
  std::vector<Address> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    sockaddr_storage storage{};
    if (entry->ai_addrlen > sizeof storage) continue;
    std::memcpy(&storage, entry->ai_addr, entry->ai_addrlen);
    addresses.push_back(Address::from_socket(storage, entry->ai_addrlen));
  }
  ::freeaddrinfo(found);
  return addresses;
}

Task<Result<std::vector<Address>>> resolve(std::shared_ptr<BlockingPool> pool, std::string host, std::uint16_t port) {
  if (auto literal = Address::ip(host, port)) co_return std::vector<Address>{*literal};
  auto work = [&host, port] { return look_up(host, port); };
  co_return co_await pool->run(std::move(work));
}

}  // namespace

protocol::Resolver system_resolver(std::shared_ptr<BlockingPool> pool) {
  return
      [pool = std::move(pool)](std::string host, std::uint16_t port) { return resolve(pool, std::move(host), port); };
}

}  // namespace skiff::net
