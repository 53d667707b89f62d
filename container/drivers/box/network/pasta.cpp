#include "container/drivers/box/network/pasta.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/small_file.hpp"
#include "base/unique_fd.hpp"
#include "container/drivers/box/enter.hpp"
#include "container/drivers/box/network/links.hpp"
#include "container/drivers/box/report.hpp"
#include "container/net/public_address.hpp"
#include "container/sandbox/progress.hpp"

namespace skiff::container::box {
namespace {

constexpr const char* kTunnels = "/dev/net/tun";
constexpr std::size_t kLongestTable = std::size_t{1} << 20U;

std::string find_pasta() {
  const char* const path = std::getenv("PATH");
  std::string_view rest{path != nullptr ? path : ""};
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::filesystem::path candidate = std::filesystem::path{rest.substr(0, colon)} / "pasta";
    if (candidate.is_absolute() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return {};
}

/// True if packets can leave this machine: /proc/net/route has a destination 0.
bool has_default_route() {
  std::istringstream lines{read_small_file("/proc/net/route", kLongestTable).value_or("")};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields{line};
    std::string interface, destination;
    if (fields >> interface >> destination && destination == "00000000") return true;
  }
  return false;
}

std::unexpected<Error> no_network(std::string message) {
  return std::unexpected{bring_up_failure(FailureReason::no_network, "--network open: " + std::move(message))};
}

std::string prefix_text(std::uint32_t address, unsigned bits) {
  const in_addr network{htonl(bits == 0 ? 0 : ntohl(address) & (~std::uint32_t{0} << (32 - bits)))};
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &network, text.data(), text.size());
  return std::string{text.data()} + "/" + std::to_string(bits);
}

std::uint32_t ipv4_of(const sockaddr* address) {
  return address != nullptr && address->sa_family == AF_INET
             ? reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr
             : 0;
}

}  // namespace

Result<std::vector<std::string>> pasta_arguments() {
  std::string pasta = find_pasta();
  if (pasta.empty()) {
    return no_network(
        "the program pasta is not on PATH\n  install passt: sudo apt install passt (or your system's "
        "package of that name)\n  or do without: --network deny");
  }
  if (!has_default_route()) return no_network("this machine has no network itself: it has no default route");
  // Without these flags pasta shows the box the ports of this machine's loopback interface.
  return std::vector<std::string>{
      std::move(pasta), "--config-net",  "-f",        "-q",    "-4",   "-a", kPastaAddress, "-n", kPastaPrefix, "-g",
      kPastaGateway,    "--dns-forward", kNameServer, "-t",    "none", "-u", "none",        "-T", "none",       "-U",
      "none",           "--no-map-gw",   "-I",        "pasta0"};
}

std::vector<std::string> barred_prefixes() {
  std::vector<std::string> all{net::kSpecialIpv4.begin(), net::kSpecialIpv4.end()};
  const auto add = [&all](std::uint32_t address, unsigned bits) {
    const std::string prefix = prefix_text(address, bits);
    if (address != 0 && std::ranges::count(all, prefix) == 0) all.push_back(prefix);
  };
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return all;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner{first, &::freeifaddrs};
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    const std::uint32_t own = ipv4_of(one->ifa_addr);
    const auto bits = static_cast<unsigned>(std::popcount(ipv4_of(one->ifa_netmask)));
    if (own == 0) continue;
    add(own, 32);
    // A prefix of a whole half of all addresses is a route and no network.
    if (bits > 1) add(own, bits);
    if ((one->ifa_flags & IFF_POINTOPOINT) != 0) add(ipv4_of(one->ifa_dstaddr), 32);
  }
  return all;
}

void run_pasta(Handover given) {
  const UniqueFd tunnels{::open(kTunnels, O_RDWR | O_CLOEXEC)};
  if (!tunnels) refuse(Step::network, kTunnels);
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (::access(self.c_str(), X_OK) != 0) refuse(Step::network, self);
  std::vector<std::string> words = std::move(given.plan.pasta);
  given.plan.pasta.clear();
  // By a shell, because pasta's AppArmor profile lets it run programs of /bin alone.
  for (const char* word : {"--", "/bin/sh", "-c", "exec \"$0\" \"$@\""}) words.emplace_back(word);
  words.push_back(self);
  words.emplace_back(kEnterCommand);
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) refuse(Step::network, "socket pair");
  const UniqueFd ours{ends[0]};
  const UniqueFd theirs{ends[1]};
  // The message waits in the socket. pasta closes all other descriptors.
  if (!send_handover(ours.get(), given) || ::dup2(theirs.get(), STDIN_FILENO) < 0) refuse(Step::network, "handover");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(argv.front(), argv.data());
  refuse(Step::network, words.front());
}

Reason explain_network(const Refusal& refusal) {
  const std::string shown = "\"" + refusal.what + "\": " + errno_text(refusal.error);
  if (refusal.what == kTunnels) {
    return {.why = "pasta cannot open the network device that it needs (" + shown + ")",
            .remedy = refusal.error == ENOENT ? "sudo modprobe tun"
                                              : "sudo chmod 666 /dev/net/tun   (udev's own rule does that)"};
  }
  if (refusal.what == "veth") {
    return {.why = "the kernel cannot make a link between network namespaces (" + shown + ")",
            .remedy = "sudo modprobe veth"};
  }
  if (refusal.what.starts_with('/') && !refusal.what.starts_with("/proc")) {
    return {.why = "the user of the box, which is not root, cannot run " + shown,
            .remedy = "install it where every user can run it, as /usr/local/bin"};
  }
  return {.why = "it gets no network (" + shown + ")", .remedy = "do without: --network deny"};
}

}  // namespace skiff::container::box
