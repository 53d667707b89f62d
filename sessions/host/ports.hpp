#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace skiff::sessions {

/// One listening TCP socket.
struct ListeningPort {
  std::string address;  ///< "127.0.0.1", "::"
  std::uint16_t port = 0;
  bool ipv6 = false;
  uid_t uid = 0;
  std::uint64_t inode = 0;
  std::optional<pid_t> pid = {};  ///< the first process that holds it; absent when no readable process does
  std::string process = {};       ///< the process's comm
};

/// Every listening TCP socket of this network namespace, by port (proc_net_tcp(5)), but the agent's own for names. It
/// reads the descriptors of every readable process, so run it on a pool's thread. `root` is a prefix for /proc, for
/// tests.
[[nodiscard]] std::vector<ListeningPort> listening_ports(const std::filesystem::path& root = "/");

}  // namespace skiff::sessions
