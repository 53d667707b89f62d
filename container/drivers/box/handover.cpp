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
#include <utility>

namespace skiff::container::box {
namespace {

constexpr std::size_t kLongestPlan = std::size_t{4} << 20U;
constexpr std::size_t kMostDescriptors = 32;

/// The only byte of the message: whether a lock is among its descriptors.
constexpr char kWithLock = 'l';
constexpr char kWithoutLock = '-';

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

}  // namespace

Result<> send_handover(int socket, const Handover& given) {
  SKIFF_TRY(auto plan, plan_file(given.plan));
  std::vector<int> descriptors{plan.get()};
  if (given.lock) descriptors.push_back(given.lock.get());
  for (const UniqueFd& listener : given.listeners) descriptors.push_back(listener.get());
  if (descriptors.size() > kMostDescriptors) return fail(Errc::invalid_field, "too many dialects", "--dialect");
  char byte = given.lock ? kWithLock : kWithoutLock;
  iovec part{.iov_base = &byte, .iov_len = 1};
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
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) != 1) return std::unexpected{system_error(errno, "send the plan")};
  return {};
}

Result<Handover> receive_handover(int socket) {
  char byte = 0;
  iovec part{.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return not_a_plan();
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return not_a_plan();
  std::vector<int> numbers((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
  std::memcpy(numbers.data(), CMSG_DATA(header), numbers.size() * sizeof(int));
  std::vector<UniqueFd> descriptors;
  for (const int number : numbers) descriptors.emplace_back(number);
  const std::size_t first_listener = byte == kWithLock ? 2 : 1;
  if (descriptors.size() < first_listener) return not_a_plan();
  Handover given;
  SKIFF_TRY(given.plan, read_plan(descriptors.front()));
  if (byte == kWithLock) given.lock = std::move(descriptors[1]);
  for (std::size_t i = first_listener; i < descriptors.size(); ++i)
    given.listeners.push_back(std::move(descriptors[i]));
  return given;
}

}  // namespace skiff::container::box
