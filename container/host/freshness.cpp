#include "container/host/freshness.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace skiff::container {
namespace {

bool is_same_time(const timespec& one, const timespec& other) {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

}  // namespace

bool is_same_file(const struct stat& one, const struct stat& other) noexcept {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino && one.st_size == other.st_size &&
         is_same_time(one.st_mtim, other.st_mtim) && is_same_time(one.st_ctim, other.st_ctim);
}

std::unique_ptr<HostFreshness> HostFreshness::take(const HostRecords& records, std::string_view name) {
  std::filesystem::path file = records.record_file(name);
  struct stat seen{};
  if (!check_name(name) || ::stat(file.c_str(), &seen) != 0) return nullptr;
  const auto record = records.load(name);
  if (!record || record->stopped || !record->has_answered() || record->pid <= 0) return nullptr;
  UniqueFd agent{static_cast<int>(::syscall(SYS_pidfd_open, record->pid, 0))};
  // Check after the pidfd was opened: only then it is certain that the pidfd is the agent's.
  if (!agent || !is_alive(record->process())) return nullptr;
  std::unique_ptr<HostFreshness> taken{new HostFreshness{std::move(file), seen, std::move(agent)}};
  return taken->holds() ? std::move(taken) : nullptr;
}

bool HostFreshness::holds() noexcept {
  if (!agent_) return false;
  struct stat now{};
  // The pidfd is readable when the process has ended (pidfd_open(2)).
  pollfd ended{.fd = agent_.get(), .events = POLLIN, .revents = 0};
  const bool same = ::stat(file_.c_str(), &now) == 0 && is_same_file(now, seen_) && ::poll(&ended, 1, 0) == 0;
  if (!same) agent_.reset();
  return same;
}

}  // namespace skiff::container
