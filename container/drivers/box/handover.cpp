#include "container/drivers/box/handover.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace skiff::container::box {
namespace {

constexpr std::size_t kLongestPlan = std::size_t{4} << 20U;
/// The kernel's own limit is 253.
constexpr std::size_t kMostDescriptors = 250;
constexpr std::size_t kLongestRoles = 512;

/// The message has a byte for each descriptor, and one for each tree that there is not.
constexpr char kPlan = 'p', kLock = 'l', kListener = 's', kTree = 't', kNoTree = '-';

std::unexpected<Error> not_a_plan() {
  return fail(Errc::invalid_request, "this command is for skiff itself: stdin brings no plan");
}

/// A file without a name that contains the plan: a message on a socket is too small for it.
Result<UniqueFd> plan_file(const Plan& plan) {
  const std::string text = protocol::to_json(plan);
  UniqueFd file{::memfd_create("plan", MFD_CLOEXEC)};
  if (!file) return std::unexpected{system_error(errno, "create a file in memory")};
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return std::unexpected{system_error(errno, "write the plan of the box")};
  }
  return file;
}

Result<Plan> read_plan(const UniqueFd& file) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0 || status.st_size > static_cast<off_t>(kLongestPlan)) return not_a_plan();
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  if (::pread(file.get(), text.data(), text.size(), 0) != status.st_size) return not_a_plan();
  return protocol::decode<Plan>(text, {.max_bytes = kLongestPlan});
}

/// Sends bytes together with descriptors.
Result<> send_with(int socket, std::string bytes, const std::vector<int>& descriptors) {
  iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
  const std::size_t size = descriptors.size() * sizeof(int);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(size);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(size);
  std::memcpy(CMSG_DATA(header), descriptors.data(), size);
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
    return std::unexpected{system_error(errno, "send descriptors")};
  }
  return {};
}

struct Received {
  std::string bytes;
  std::vector<UniqueFd> descriptors;
};

/// `flags` are those of recvmsg(2).
Result<Received> receive(int socket, int flags) {
  Received received{.bytes = std::string(kLongestRoles, '\0'), .descriptors = {}};
  iovec part{.iov_base = received.bytes.data(), .iov_len = received.bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
  const cmsghdr* const header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return not_a_plan();
  received.bytes.resize(static_cast<std::size_t>(got));
  std::vector<int> numbers((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
  std::memcpy(numbers.data(), CMSG_DATA(header), numbers.size() * sizeof(int));
  for (const int number : numbers) received.descriptors.emplace_back(number);
  return received;
}

}  // namespace

Result<> send_handover(int socket, const Handover& given) {
  SKIFF_TRY(auto plan, plan_file(given.plan));
  std::string roles;
  std::vector<int> descriptors;
  const auto add = [&](char role, const UniqueFd& fd) {
    roles += role;
    descriptors.push_back(fd.get());
  };
  add(kPlan, plan);
  if (given.lock) add(kLock, given.lock);
  for (const UniqueFd& listener : given.listeners) add(kListener, listener);
  for (const UniqueFd& tree : given.trees) {
    if (tree) {
      add(kTree, tree);
    } else {
      roles += kNoTree;
    }
  }
  if (descriptors.size() > kMostDescriptors) return fail(Errc::invalid_field, "too many dialects", "--dialect");
  return send_with(socket, roles, descriptors);
}

Result<Handover> receive_handover(int socket) {
  SKIFF_TRY(auto received, receive(socket, 0));
  std::vector<UniqueFd>& descriptors = received.descriptors;
  Handover given;
  UniqueFd plan;
  std::size_t next = 0;
  for (const char role : received.bytes) {
    if (role == kNoTree) {
      given.trees.emplace_back();
      continue;
    }
    if (next == descriptors.size()) return not_a_plan();
    UniqueFd one = std::move(descriptors[next++]);
    switch (role) {
      case kPlan:
        plan = std::move(one);
        break;
      case kLock:
        given.lock = std::move(one);
        break;
      case kListener:
        given.listeners.push_back(std::move(one));
        break;
      case kTree:
        given.trees.push_back(std::move(one));
        break;
      default:
        return not_a_plan();
    }
  }
  if (!plan) return not_a_plan();
  SKIFF_TRY(given.plan, read_plan(plan));
  return given;
}

Result<> send_back(int socket, const UniqueFd& given) {
  return send_with(socket, {kListener}, {given.get()});
}

Result<UniqueFd> receive_back(int socket) {
  auto received = receive(socket, MSG_DONTWAIT);
  if (!received || received->descriptors.size() != 1) {
    return fail(Errc::invalid_request, "the box has not sent its socket");
  }
  return std::move(received->descriptors.front());
}

}  // namespace skiff::container::box
