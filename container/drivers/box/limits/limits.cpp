#include "container/drivers/box/limits/limits.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string_view>

#include "container/kube/objects/quantity.hpp"
#include "container/sandbox/pod_options.hpp"

namespace skiff::container::box {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
/// A box with less memory could not run its agent.
constexpr std::uint64_t kLeastMemory = 32 * kMiB;
constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 50U;
/// The kernel gives no group less than a millisecond in 100 (in thousandths of a core).
constexpr std::uint64_t kLeastCpu = 10;
constexpr std::uint64_t kMostCpu = 1'000'000;
constexpr std::uint64_t kFewestProcesses = 16;
/// Before Linux 5.14 the limit counts all processes of the user.
constexpr int kFirstWithProcesses = 5014;
/// A new box needs that much free space beside its state, in bytes.
constexpr std::uint64_t kLeastFree = 1024 * kMiB;

std::unexpected<Error> bad_limit(std::string_view flag, std::string_view text, std::string_view expected) {
  std::string message{flag};
  message.append(" ").append(text).append(": ").append(expected);
  return fail(Errc::invalid_field, std::move(message), std::string{flag});
}

/// The limit of REQUEST[:LIMIT], times `scale`. A box has no scheduler that could use a request.
Result<std::uint64_t> limit_of(const std::string& text, const char* flag, double scale, std::uint64_t least,
                               std::uint64_t most, std::string_view expected) {
  SKIFF_TRY(auto amounts, parse_amounts(text, flag));
  const std::optional<double> value = kube::parse_quantity(amounts.limit);
  const double scaled = value.value_or(0) * scale;
  if (!(scaled >= static_cast<double>(least) && scaled <= static_cast<double>(most))) {
    return bad_limit(flag, text, expected);
  }
  return static_cast<std::uint64_t>(std::llround(scaled));
}

std::string mebibytes(std::uint64_t bytes) {
  return std::to_string(bytes / kMiB) + " MiB";
}

std::string cores(std::uint64_t thousandths) {
  std::array<char, 32> text{};
  const int size = std::snprintf(text.data(), text.size(), "%g", static_cast<double>(thousandths) / 1000);
  return {text.data(), static_cast<std::size_t>(std::max(size, 0))};
}

}  // namespace

Result<HostLimits> parse_limits(const SandboxSpec& spec, int kernel) {
  const PodOptions usual;
  HostLimits limits;
  if (spec.pod.disk != usual.disk || spec.names_disk) {
    return bad_limit("--disk", spec.pod.disk,
                     "the box driver cannot limit the disk space of a sandbox; --driver pod and --driver docker can "
                     "be asked for it");
  }
  if (spec.pod.memory != usual.memory || spec.names_memory) {
    SKIFF_TRY(limits.memory_bytes, limit_of(spec.pod.memory, "--memory", 1, kLeastMemory, kMostMemory,
                                            "expected an amount from 32Mi, as 512Mi or 2Gi"));
  }
  if (spec.pod.cpu != usual.cpu || spec.names_cpu) {
    SKIFF_TRY(limits.cpu_thousandths,
              limit_of(spec.pod.cpu, "--cpu", 1000, kLeastCpu, kMostCpu, "expected cores from 10m, as 500m or 2"));
  }
  limits.processes = spec.pids;
  if (spec.pids != 0 && (spec.pids < kFewestProcesses || spec.pids > kMostProcesses)) {
    return bad_limit("--pids", std::to_string(spec.pids), "expected 16 to 4096 processes and threads");
  }
  if (spec.pids != 0 && kernel < kFirstWithProcesses) {
    return bad_limit("--pids", std::to_string(spec.pids), "this needs Linux 5.14 or newer");
  }
  return limits;
}

std::string limits_text(const HostLimits& limits) {
  std::string text = std::to_string(limits.processes == 0 ? kMostProcesses : limits.processes) + " processes";
  std::string absent;
  if (limits.memory_bytes != 0) text.append(", ").append(mebibytes(limits.memory_bytes)).append(" of memory");
  if (limits.cpu_thousandths != 0) text.append(", ").append(cores(limits.cpu_thousandths)).append(" CPU");
  if (limits.memory_bytes == 0) absent = limits.cpu_thousandths == 0 ? "memory, CPU and " : "memory and ";
  if (limits.memory_bytes != 0 && limits.cpu_thousandths == 0) absent = "CPU and ";
  return text + "; " + absent + "disk " + (absent.empty() ? "is" : "are") + " not limited";
}

Result<> check_free_space(const std::filesystem::path& directory) {
  struct statvfs found{};
  if (::statvfs(directory.c_str(), &found) != 0) return {};
  const std::uint64_t free = std::uint64_t{found.f_bavail} * found.f_frsize;
  if (free >= kLeastFree) return {};
  return fail(Errc::no_space, "only " + mebibytes(free) + " are free in \"" + directory.string() +
                                  "\", and a new box needs 1 GiB: nothing limits the disk space of a box. Remove "
                                  "sandboxes (skiff rm, skiff gc), or set XDG_STATE_HOME to a larger disk");
}

}  // namespace skiff::container::box
