#include "sessions/host/ports.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "sessions/host/name_addresses.hpp"

namespace skiff::sessions {
namespace {

constexpr std::string_view kListen = "0A";

template <class Number>
std::optional<Number> parsed(std::string_view text, int base = 10) {
  Number value{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Parses an address: eight hex digits for each 32-bit word, in the byte order of the machine.
std::optional<std::string> address_of(std::string_view hex) {
  std::array<std::uint32_t, 4> words{};
  if (hex.size() != 8 && hex.size() != 32) return std::nullopt;
  for (std::size_t i = 0; i < hex.size() / 8; ++i) {
    const auto word = parsed<std::uint32_t>(hex.substr(i * 8, 8), 16);
    if (!word) return std::nullopt;
    words[i] = *word;
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::inet_ntop(hex.size() == 8 ? AF_INET : AF_INET6, words.data(), text.data(), text.size()) == nullptr) {
    return std::nullopt;
  }
  return text.data();
}

/// Parses "sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode ...".
std::optional<ListeningPort> parse_line(const std::string& line) {
  std::istringstream in{line};
  std::array<std::string, 10> words;
  for (std::string& word : words) in >> word;
  if (!in || words[3] != kListen) return std::nullopt;
  const std::string_view local = words[1];
  const std::size_t colon = local.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto word = parsed<std::uint32_t>(local.substr(0, colon), 16);
  if (word && is_for_a_name(ntohl(*word))) return std::nullopt;
  auto address = address_of(local.substr(0, colon));
  const auto port = parsed<std::uint16_t>(local.substr(colon + 1), 16);
  const auto uid = parsed<uid_t>(words[7]);
  const auto inode = parsed<std::uint64_t>(words[9]);
  if (!address || !port || !uid || !inode) return std::nullopt;
  return ListeningPort{
      .address = std::move(*address), .port = *port, .ipv6 = colon == 32, .uid = *uid, .inode = *inode};
}

void read_table(const std::filesystem::path& file, std::vector<ListeningPort>& into) {
  std::ifstream in{file};
  for (std::string line; std::getline(in, line);) {
    if (auto found = parse_line(line)) into.push_back(std::move(*found));
  }
}

/// Parses "socket:[12345]".
std::optional<std::uint64_t> socket_inode(std::string_view link) {
  constexpr std::string_view kSocket = "socket:[";
  if (!link.starts_with(kSocket) || !link.ends_with(']')) return std::nullopt;
  return parsed<std::uint64_t>(link.substr(kSocket.size(), link.size() - kSocket.size() - 1));
}

/// Calls `visit` with each entry of a directory whose name is a number, in ascending order.
template <class Visit>
void each_number(const std::filesystem::path& directory, Visit visit) {
  std::error_code error;
  std::vector<int> numbers;
  for (auto it = std::filesystem::directory_iterator{directory, error};
       !error && it != std::filesystem::directory_iterator{}; it.increment(error)) {
    if (const auto number = parsed<int>(it->path().filename().string())) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  for (const int number : numbers) visit(number);
}

void find_holders(const std::filesystem::path& proc, std::vector<ListeningPort>& ports) {
  std::unordered_map<std::uint64_t, ListeningPort*> wanted;
  for (ListeningPort& port : ports) wanted.emplace(port.inode, &port);
  each_number(proc, [&](pid_t pid) {
    if (wanted.empty()) return;
    const auto directory = proc / std::to_string(pid);
    each_number(directory / "fd", [&](int fd) {
      std::error_code error;
      const auto link = std::filesystem::read_symlink(directory / "fd" / std::to_string(fd), error);
      const auto inode = error ? std::nullopt : socket_inode(link.native());
      const auto found = inode ? wanted.find(*inode) : wanted.end();
      if (found == wanted.end()) return;
      found->second->pid = pid;
      std::ifstream name{directory / "comm"};
      std::getline(name, found->second->process);
      wanted.erase(found);
    });
  });
}

}  // namespace

std::vector<ListeningPort> listening_ports(const std::filesystem::path& root) {
  std::vector<ListeningPort> ports;
  read_table(root / "proc/net/tcp", ports);
  read_table(root / "proc/net/tcp6", ports);
  find_holders(root / "proc", ports);
  std::ranges::sort(ports, {}, [](const ListeningPort& one) { return std::tuple{one.port, one.ipv6, one.inode}; });
  return ports;
}

}  // namespace skiff::sessions
