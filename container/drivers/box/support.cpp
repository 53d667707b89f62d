#include "container/drivers/box/support.hpp"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "base/small_file.hpp"

namespace skiff::container::box {
namespace {

constexpr std::size_t kLongestKernelFile = 65'536;
/// mount_setattr(2), with which a tree becomes read-only as a whole, is in Linux since 5.12.
constexpr int kOldestKernel = 5012;

constexpr std::string_view kOfContainer =
    "start it with: docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
    "--security-opt systempaths=unconfined";

/// The drivers with which to go on without a box, one a line. Nobody gets the last one without naming it.
std::string other_drivers(const Circumstances& here) {
  return here.is_container ? "in this container, with no more isolation than it gives: --driver local"
                           : "in a container of docker, podman or nerdctl: --driver docker --image IMAGE\n"
                             "without isolation, as you: --driver local";
}

std::string kernel_file(const char* path) {
  return read_small_file(path, kLongestKernelFile).value_or("");
}

std::optional<std::uint64_t> kernel_number(const char* path) {
  const std::string text = kernel_file(path);
  std::uint64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc{}) return std::nullopt;
  return number;
}

bool has_container_mark() {
  if (std::getenv("container") != nullptr || std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return true;
  for (const char* mark : {"/.dockerenv", "/run/.containerenv", "/run/systemd/container"}) {
    if (::access(mark, F_OK) == 0) return true;
  }
  return false;
}

bool is_seccomp_filtered() {
  const std::string status = kernel_file("/proc/self/status");
  const std::size_t line = status.find("\nSeccomp:\t");
  return line != std::string::npos && status[line + std::string_view{"\nSeccomp:\t"}.size()] != '0';
}

/// True if the root directory is not a mount point: then it is a part of a file system (chroot(2)).
bool is_in_chroot() {
  // Fields of a line: id, parent, device, root, mount point.
  std::istringstream lines{kernel_file("/proc/self/mountinfo")};
  bool is_read = false;
  for (std::string line; std::getline(lines, line); is_read = true) {
    std::istringstream fields{line};
    std::string field;
    for (int i = 0; i < 5; ++i) fields >> field;
    if (field == "/") return false;
  }
  return is_read;
}

std::string shown_step(const Refusal& refusal) {
  std::string text{step_word(refusal.step)};
  if (!refusal.what.empty()) text.append(" ").append(refusal.what);
  return text.append(": ").append(errno_text(refusal.error));
}

/// A refusal of the namespaces themselves. The remedy may be empty here and below: `explain` adds other drivers.
Reason explain_clone(const Refusal& refusal, const Circumstances& here) {
  const std::string shown = shown_step(refusal);
  if (refusal.error == ENOSPC || refusal.error == EUSERS) {
    if (here.most_namespaces == 0U) {
      return {.why = "user.max_user_namespaces is 0",
              .remedy = "sudo sysctl -w user.max_user_namespaces=15000   (to keep it: /etc/sysctl.d/90-userns.conf)"};
    }
    return {.why = "too many namespaces exist, or they are nested too deep (" + shown + ")",
            .remedy = "remove sandboxes, or raise user.max_*_namespaces with sysctl"};
  }
  if (refusal.error == EINVAL) {
    return {.why = "this kernel lacks a kind of namespace (" + shown + ")"};
  }
  if (here.userns_clone == 0U && !here.is_root) {
    return {.why = "kernel.unprivileged_userns_clone is 0",
            .remedy = "sudo sysctl -w kernel.unprivileged_userns_clone=1"};
  }
  if (here.is_container || here.is_filtered) {
    return {.why = std::string{here.is_container ? "skiff runs in a container, whose filter" : "a seccomp filter"} +
                   " refuses new namespaces (" + shown + ")",
            .remedy = std::string{kOfContainer}};
  }
  if (here.is_chroot) {
    return {.why = "skiff runs in a chroot, where the kernel permits no user namespace (" + shown + ")",
            .remedy = "run it outside of the chroot"};
  }
  return {.why = "the kernel refuses new namespaces (" + shown + ")"};
}

bool is_denial(int error) {
  return error == EPERM || error == EACCES;
}

/// A refusal of the directory that was mounted: the machine can have boxes.
Reason explain_workspace(const Refusal& refusal) {
  if (refusal.error == ESTALE) {
    return {.why = "another directory has taken the place of \"" + refusal.what + "\" since it was named",
            .remedy = "remove the sandbox and create it again"};
  }
  return {.why = "the directory cannot be written over (" + shown_step(refusal) + ")",
          .remedy =
              "name a directory without mounts below it; one that already is an overlay can only be read: "
              "--mount DIR:ro"};
}

Reason explain_step(const Refusal& refusal, const Circumstances& here) {
  if (here.kernel != 0 && here.kernel < kOldestKernel) {
    return {.why = "it needs Linux 5.12 or newer, and this is " + std::to_string(here.kernel / 1000) + "." +
                   std::to_string(here.kernel % 1000)};
  }
  const std::string shown = shown_step(refusal);
  if (refusal.step == Step::clone) return explain_clone(refusal, here);
  if (refusal.step == Step::user) {
    return {.why = "root cannot change to the user of the box (" + shown + ")",
            .remedy = "it needs the capabilities SETUID and SETGID; or run skiff as an ordinary user"};
  }
  const bool is_profiled =
      refusal.label.starts_with("unprivileged_userns") || (here.apparmor_restricts && !here.is_root);
  if (is_denial(refusal.error) && is_profiled) {
    return {.why =
                "this system lets no program of yours have a user namespace with rights (AppArmor: "
                "kernel.apparmor_restrict_unprivileged_userns=1)",
            .remedy =
                "allow it for skiff: skiff doctor --apparmor | sudo tee /etc/apparmor.d/skiff && sudo apparmor_parser "
                "-r /etc/apparmor.d/skiff\n"
                "or for everybody: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"};
  }
  if (is_denial(refusal.error) && refusal.step == Step::proc) {
    return {.why = "skiff runs in a container, which covers parts of /proc (mount " + shown + ")",
            .remedy =
                "docker: --security-opt systempaths=unconfined    podman: --security-opt unmask=ALL    "
                "devcontainer.json: \"runArgs\""};
  }
  if (is_denial(refusal.error) && (here.is_container || here.is_filtered)) {
    return {.why = "skiff runs in a container, which refuses a part of a box (" + shown + ")",
            .remedy = std::string{kOfContainer}};
  }
  return {.why = "the kernel refuses a part of it (" + shown + ")"};
}

}  // namespace

Circumstances look_around() {
  Circumstances here;
  here.is_root = ::geteuid() == 0;
  here.is_container = has_container_mark();
  here.is_filtered = is_seccomp_filtered();
  here.is_chroot = is_in_chroot();
  here.apparmor_restricts = kernel_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1U;
  here.most_namespaces = kernel_number("/proc/sys/user/max_user_namespaces");
  here.userns_clone = kernel_number("/proc/sys/kernel/unprivileged_userns_clone");
  here.kernel = kernel_version();
  return here;
}

int kernel_version() noexcept {
  utsname name{};
  if (::uname(&name) != 0) return 0;
  char* end = nullptr;
  const auto major = static_cast<int>(std::strtol(name.release, &end, 10));
  return major * 1000 + (*end == '.' ? static_cast<int>(std::strtol(end + 1, nullptr, 10)) : 0);
}

Reason explain(const Refusal& refusal, const Circumstances& here) {
  if (refusal.step == Step::workspace) return explain_workspace(refusal);
  Reason reason = explain_step(refusal, here);
  reason.remedy.append(reason.remedy.empty() ? "" : "\nor ").append(other_drivers(here));
  return reason;
}

}  // namespace skiff::container::box
