#include "container/drivers/docker/answers.hpp"

#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

#include "container/sandbox/sandbox.hpp"

namespace skiff::container::docker {
namespace {

using nlohmann::json;

constexpr std::string_view kNamePrefix = "skiff-";
constexpr std::size_t kIdLength = 64;

std::unexpected<Error> unreadable(const char* command) {
  return fail(Errc::io_error, std::string{"the answer of `"} + command + "` cannot be read");
}

/// The member of an object; null if there is none.
json member(const json& of, const char* name) {
  return of.is_object() && of.contains(name) ? of[name] : json{};
}

bool is_true(const json& of, const char* name) {
  return member(of, name) == true;
}

int number(const json& of, const char* name) {
  const json value = member(of, name);
  return value.is_number_integer() ? value.get<int>() : 0;
}

std::string text(const json& of, const char* name) {
  const json value = member(of, name);
  return value.is_string() ? value.get<std::string>() : std::string{};
}

bool is_id(std::string_view word) {
  return word.size() == kIdLength &&
         std::ranges::all_of(word, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// The next word of a line, which is shortened by it.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::string_view take_line(std::string_view& lines) {
  const std::size_t end = std::min(lines.find('\n'), lines.size());
  const std::string_view line = lines.substr(0, end);
  lines.remove_prefix(std::min(end + 1, lines.size()));
  return line;
}

/// A port of 127.0.0.1 among the bindings of one port of a container.
std::uint16_t loopback_port(const json& bindings) {
  if (!bindings.is_array()) return 0;
  for (const json& binding : bindings) {
    const std::string port = text(binding, "HostPort");
    std::uint16_t read = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), read);
    const bool is_whole = error == std::errc{} && end == port.data() + port.size();
    if (is_whole && text(binding, "HostIp") == "127.0.0.1") return read;
  }
  return 0;
}

}  // namespace

Result<EngineAbilities> parse_info(std::string_view text) {
  const json info = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!info.is_object()) return unreadable("info");
  if (const json host = member(info, "host"); host.is_object()) {
    // Podman. Rootless on cgroups v1 it has no controllers, and writes null.
    const json controllers = member(host, "cgroupControllers");
    const auto has = [&controllers](const char* name) {
      return controllers.is_array() && std::ranges::find(controllers, json(name)) != controllers.end();
    };
    return EngineAbilities{.memory = has("memory"),
                           .cpu = has("cpu"),
                           .pids = has("pids"),
                           .rootless = is_true(member(host, "security"), "rootless"),
                           .is_podman = true};
  }
  if (!info.contains("MemoryLimit")) return unreadable("info");
  const json options = member(info, "SecurityOptions");
  const bool is_rootless = options.is_array() && std::ranges::any_of(options, [](const json& option) {
                             return option.is_string() && option.get<std::string>().contains("rootless");
                           });
  return EngineAbilities{.memory = is_true(info, "MemoryLimit"),
                         .cpu = is_true(info, "CpuCfsQuota") || is_true(info, "CPUCfsQuota"),
                         .pids = is_true(info, "PidsLimit"),
                         .rootless = is_rootless};
}

Result<ContainerState> parse_inspect(std::string_view text_of_all, std::uint16_t agent_port) {
  const json all = json::parse(text_of_all, nullptr, /*allow_exceptions=*/false);
  if (!all.is_array() || all.size() != 1) return unreadable("inspect");
  const json state = member(all.front(), "State");
  if (!state.is_object()) return unreadable("inspect");
  const json ports = member(member(all.front(), "NetworkSettings"), "Ports");
  return ContainerState{
      .is_running = is_true(state, "Running"),
      .pid = number(state, "Pid"),
      .exit_code = number(state, "ExitCode"),
      .out_of_memory = is_true(state, "OOMKilled"),
      .error = text(state, "Error"),
      .port = loopback_port(member(ports, (std::to_string(agent_port) + "/tcp").c_str())),
  };
}

std::vector<ListedContainer> parse_list(std::string_view lines) {
  std::vector<ListedContainer> all;
  while (!lines.empty()) {
    std::string_view line = take_line(lines);
    const std::string_view id = take_word(line);
    std::string_view name = take_word(line);
    if (!is_id(id) || !name.starts_with(kNamePrefix)) continue;
    name.remove_prefix(kNamePrefix.size());
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos || !check_name(name.substr(0, dot))) continue;
    all.push_back({.id = std::string{id},
                   .name = std::string{name.substr(0, dot)},
                   .sandbox_id = std::string{name.substr(dot + 1)},
                   // All engines write "Up 3 minutes", "Exited (0) ...", "Created".
                   .is_running = line.starts_with("Up")});
  }
  return all;
}

Result<std::string> parse_created(std::string_view output) {
  std::string_view last;
  while (!output.empty()) {
    const std::string_view line = take_line(output);
    if (!line.empty()) last = line;
  }
  if (!is_id(last)) return unreadable("create");
  return std::string{last};
}

}  // namespace skiff::container::docker
