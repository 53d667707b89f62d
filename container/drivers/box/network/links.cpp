#include "container/drivers/box/network/links.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/unique_fd.hpp"
#include "container/drivers/box/report.hpp"

namespace skiff::container::box {
namespace {

constexpr const char* kOurEnd = "box0";
constexpr const char* kItsEnd = "eth0";
constexpr const char* kOurAddress = "198.18.0.9";
constexpr const char* kItsAddress = "198.18.0.10";
constexpr unsigned char kLinkPrefix = 30;
/// That of pasta's interface.
constexpr std::uint32_t kMtu = 65520;

/// A request for rtnetlink(7).
class Request {
 public:
  template <class Header>
  Request(std::uint16_t type, std::uint16_t flags, const Header& header) {
    nlmsghdr begin{};
    begin.nlmsg_type = type;
    begin.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
    append(&begin, sizeof begin);
    append(&header, sizeof header);
  }

  void add(std::uint16_t type, const void* data, std::size_t size) {
    const std::size_t begin = open(type);
    append(data, size);
    close(begin);
  }
  void add(std::uint16_t type, std::uint32_t value) { add(type, &value, sizeof value); }
  void add(std::uint16_t type, std::string_view text) { add(type, std::string{text}.c_str(), text.size() + 1); }
  /// Begins an attribute that contains others.
  std::size_t open(std::uint16_t type) {
    const std::size_t begin = bytes_.size();
    const rtattr attribute{.rta_len = 0, .rta_type = type};
    append(&attribute, sizeof attribute);
    return begin;
  }
  void close(std::size_t begin) {
    const auto size = static_cast<std::uint16_t>(bytes_.size() - begin);
    std::memcpy(bytes_.data() + begin, &size, sizeof size);
    bytes_.resize((bytes_.size() + RTA_ALIGNTO - 1) / RTA_ALIGNTO * RTA_ALIGNTO);
  }
  void append(const void* data, std::size_t size) {
    const auto* const first = static_cast<const char*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
  }

  /// Sends it and waits for the answer. Returns 0 or errno.
  int send(const UniqueFd& socket) {
    const auto size = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data(), &size, sizeof size);
    if (::send(socket.get(), bytes_.data(), bytes_.size(), 0) != static_cast<ssize_t>(bytes_.size())) return errno;
    struct {
      nlmsghdr header;
      nlmsgerr error;
      std::array<char, 4096> rest;
    } answer{};
    const ssize_t got = ::recv(socket.get(), &answer, sizeof answer, 0);
    if (got < 0) return errno;
    if (answer.header.nlmsg_type != NLMSG_ERROR) return EPROTO;
    return -answer.error.error;
  }

 private:
  std::vector<char> bytes_;
};

UniqueFd open_netlink() {
  UniqueFd socket{::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)};
  if (!socket) refuse(Step::network, "netlink");
  return socket;
}

void demand(int error, const char* what) {
  if (error == 0) return;
  errno = error;
  refuse(Step::network, what);
}

std::uint32_t number_of(const char* address) {
  in_addr binary{};
  ::inet_pton(AF_INET, address, &binary);
  return binary.s_addr;
}

void set_address(const UniqueFd& socket, const char* name, const char* address) {
  const auto index = static_cast<int>(::if_nametoindex(name));
  ifaddrmsg about{};
  about.ifa_family = AF_INET;
  about.ifa_prefixlen = kLinkPrefix;
  about.ifa_index = static_cast<std::uint32_t>(index);
  Request address_of_it{RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, about};
  address_of_it.add(IFA_LOCAL, number_of(address));
  demand(address_of_it.send(socket), "address");
  ifinfomsg link{};
  link.ifi_index = index;
  link.ifi_flags = IFF_UP;
  link.ifi_change = IFF_UP;
  demand(Request{RTM_NEWLINK, 0, link}.send(socket), "link");
}

rtmsg route_to(unsigned char prefix, unsigned char type) {
  rtmsg route{};
  route.rtm_family = AF_INET;
  route.rtm_dst_len = prefix;
  route.rtm_table = RT_TABLE_MAIN;
  route.rtm_protocol = RTPROT_STATIC;
  route.rtm_scope = RT_SCOPE_UNIVERSE;
  route.rtm_type = type;
  return route;
}

/// Bars a.b.c.d/n.
void bar(const UniqueFd& socket, const std::string& text) {
  const std::size_t slash = text.find('/');
  unsigned char prefix = 0;
  const auto parsed = std::from_chars(text.data() + slash + 1, text.data() + text.size(), prefix);
  if (slash == std::string::npos || parsed.ec != std::errc{} || prefix == 0 || prefix > 32) {
    demand(EINVAL, text.c_str());
  }
  Request route{RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, route_to(prefix, RTN_PROHIBIT)};
  route.add(RTA_DST, number_of(text.substr(0, slash).c_str()));
  // Two interfaces may have the same prefix.
  if (const int error = route.send(socket); error != EEXIST) demand(error, text.c_str());
}

void set_kernel(const char* file, std::string_view value) {
  const UniqueFd setting{::open(file, O_WRONLY | O_CLOEXEC)};
  const bool is_set =
      setting && ::write(setting.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
  if (!is_set) refuse(Step::network, file);
}

void create_link(const UniqueFd& socket, pid_t box) {
  const ifinfomsg none{};
  Request request{RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, none};
  request.add(IFLA_IFNAME, std::string_view{kOurEnd});
  request.add(IFLA_MTU, kMtu);
  const std::size_t info = request.open(IFLA_LINKINFO);
  request.add(IFLA_INFO_KIND, "veth", 4);
  const std::size_t data = request.open(IFLA_INFO_DATA);
  const std::size_t peer = request.open(VETH_INFO_PEER);
  request.append(&none, sizeof none);
  request.add(IFLA_IFNAME, std::string_view{kItsEnd});
  request.add(IFLA_MTU, kMtu);
  request.add(IFLA_NET_NS_PID, static_cast<std::uint32_t>(box));
  request.close(peer);
  request.close(data);
  request.close(info);
  demand(request.send(socket), "veth");
}

}  // namespace

void connect_box(pid_t box, const std::vector<std::string>& barred) {
  const UniqueFd socket = open_netlink();
  for (const std::string& prefix : barred) bar(socket, prefix);
  create_link(socket, box);
  set_address(socket, kOurEnd, kOurAddress);
  // Each refusal is told to the box at once.
  set_kernel("/proc/sys/net/ipv4/icmp_ratelimit", "0");
  set_kernel("/proc/sys/net/ipv4/ip_forward", "1");
}

void set_up_link() {
  const UniqueFd socket = open_netlink();
  set_address(socket, kItsEnd, kItsAddress);
  Request route{RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, route_to(0, RTN_UNICAST)};
  route.add(RTA_GATEWAY, number_of(kOurAddress));
  demand(route.send(socket), "route");
}

}  // namespace skiff::container::box
