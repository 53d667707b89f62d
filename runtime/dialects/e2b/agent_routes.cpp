#include "runtime/dialects/e2b/agent_routes.hpp"

#include <sys/sysinfo.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include "protocol/json/text.hpp"
#include "runtime/dialects/e2b/messages.hpp"
#include "sessions/host/stats.hpp"
#include "sessions/spawn/users.hpp"

namespace skiff::runtime::dialects::e2b {
namespace {

using protocol::append_json_number;

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;

Task<Result<>> answer_json(Call* call, std::string text) {
  protocol::HttpResponse response{200, {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}}, {}};
  response.body = std::move(text);
  co_return co_await call->request.http.respond(std::move(response));
}

Task<Result<>> answer_nothing(Call* call) {
  co_return co_await call->request.http.respond({204, {{"Cache-Control", "no-store"}}, {}});
}

struct ContainerUse {
  sessions::ContainerStats container;
  std::optional<sessions::DiskStats> disk;
  std::uint64_t machine_memory = 0;
};

std::uint64_t machine_memory() {
  struct sysinfo info{};
  return ::sysinfo(&info) == 0 ? std::uint64_t{info.totalram} * info.mem_unit : 0;
}

/// The CPU time that was used since the last call, in percent of all cores.
double cpu_percent(State& state, const ContainerUse& use) {
  const auto used = use.container.cpu.used_us;
  const SteadyTime now = SteadyTime::clock::now();
  const auto before = std::exchange(state.cpu, {.used_us = used.value_or(0), .at = now});
  const double elapsed = std::chrono::duration<double, std::micro>{now - before.at}.count();
  if (!used || before.at == SteadyTime{} || *used < before.used_us || elapsed <= 0) return 0;
  const double cores = std::max(use.container.cpu.cores, 1U);
  return std::clamp(100.0 * static_cast<double>(*used - before.used_us) / elapsed / cores, 0.0, 100.0);
}

std::string metrics_text(State& state, const ContainerUse& use) {
  const auto& memory = use.container.memory;
  const std::uint64_t total = std::min(memory.limit_bytes.value_or(UINT64_MAX), use.machine_memory);
  const std::uint64_t used = memory.used_bytes.value_or(0);
  const std::uint64_t disk = use.disk ? use.disk->total_bytes : 0;
  const auto now = std::chrono::floor<std::chrono::seconds>(wall_now()).time_since_epoch().count();
  std::array<char, 32> percent{};
  const int size = std::snprintf(percent.data(), percent.size(), "%.2f", cpu_percent(state, use));
  std::string text{'{'};
  append_json_number(text, "ts", static_cast<std::uint64_t>(now));
  append_json_number(text, "cpu_count", std::max(use.container.cpu.cores, 1U));
  protocol::append_json_key(text, "cpu_used_pct");
  text.append(percent.data(), static_cast<std::size_t>(std::max(size, 0)));
  append_json_number(text, "mem_total", total);
  append_json_number(text, "mem_used", used);
  append_json_number(text, "mem_cache", 0);
  append_json_number(text, "mem_total_mib", total / kMebibyte);
  append_json_number(text, "mem_used_mib", used / kMebibyte);
  append_json_number(text, "disk_used", use.disk ? disk - use.disk->available_bytes : 0);
  append_json_number(text, "disk_total", disk);
  return text + '}';
}

/// Checks that the caller may call /init: it shows the token that is set, in the message or in X-Access-Token, or there
/// is none.
Result<> admit(Call* call, const InitMessage& message) {
  Access& access = call->state.access;
  if (!access.is_closed()) return {};
  if (message.access_token && !message.access_token->empty() &&
      !call->request.http.request().headers.contains("X-Access-Token")) {
    if (access.matches(*message.access_token)) return {};
    return fail(Errc::unauthenticated, "accessToken is not the token that is set");
  }
  SKIFF_TRY_VOID(access.check(call->request.http.request().headers));
  return {};
}

}  // namespace

Task<Result<>> tell_health(Call* call) {
  return answer_nothing(call);
}

Task<Result<>> tell_metrics(Call* call) {
  auto look = [root = call->agent().settings.root] {
    return ContainerUse{.container = sessions::read_container_stats(),
                        .disk = sessions::read_disk_stats(root),
                        .machine_memory = machine_memory()};
  };
  const ContainerUse use = co_await call->agent().pools.disk.run(std::move(look));
  co_return co_await answer_json(call, metrics_text(call->state, use));
}

Task<Result<>> tell_envs(Call* call) {
  std::string text{'{'};
  for (const auto& [name, value] : call->state.env) protocol::append_json_text(text, name, value);
  co_return co_await answer_json(call, text + '}');
}

Task<Result<>> initialise(Call* call) {
  State& state = call->state;
  auto& http = call->request.http;
  SKIFF_CO_TRY(auto text, co_await http.read_body(call->agent().settings.max_json_bytes));
  SKIFF_CO_TRY(auto message, read_init(text));
  SKIFF_CO_TRY_VOID(admit(call, message));
  SKIFF_CO_TRY_VOID(http.mark_authenticated());
  if (message.default_workdir && !message.default_workdir->empty() && !message.default_workdir->starts_with('/')) {
    co_return fail(Errc::invalid_field, "defaultWorkdir: expected an absolute path", "defaultWorkdir");
  }
  if (message.default_user && !message.default_user->empty()) {
    auto look = [&] { return sessions::look_up_user(*message.default_user); };
    auto user = co_await call->agent().pools.disk.run(std::move(look));
    if (!user) co_return fail(Errc::invalid_field, "defaultUser: " + user.error().message, "defaultUser");
  }
  // Another call may have set a token meanwhile.
  SKIFF_CO_TRY_VOID(admit(call, message));
  if (message.access_token && !message.access_token->empty()) {
    SKIFF_CO_TRY_VOID(state.access.close(std::move(*message.access_token)));
  }
  if (message.env_vars) state.env = std::move(*message.env_vars);
  if (message.default_user) state.default_user = std::move(*message.default_user);
  if (message.default_workdir) state.default_workdir = std::move(*message.default_workdir);
  co_return co_await answer_nothing(call);
}

}  // namespace skiff::runtime::dialects::e2b
