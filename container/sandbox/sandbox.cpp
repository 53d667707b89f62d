#include "container/sandbox/sandbox.hpp"

#include <algorithm>
#include <cstddef>

#include <nlohmann/json.hpp>

#include "base/id.hpp"

namespace skiff::container {
namespace {

constexpr std::size_t kLongestName = 50;
constexpr std::size_t kRandomLetters = 8;
constexpr std::size_t kMostSaid = std::size_t{256} << 10U;
constexpr std::size_t kLongestVariable = std::size_t{128} << 10U;

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

Result<> check_name(std::string_view name) {
  const bool fits = !name.empty() && name.size() <= kLongestName && name.front() != '-' && name.back() != '-' &&
                    std::ranges::all_of(name, [](char c) { return is_lower(c) || is_digit(c) || c == '-'; });
  if (fits) return {};
  return fail(
      Errc::invalid_field,
      "\"" + std::string{name.substr(0, 80)} +
          "\" is not a name for a sandbox: expected lower-case letters, digits and, between them, -; at most 50",
      "name");
}

std::string egress_text(const std::vector<std::string>& rules, const std::vector<std::string>& secrets) {
  std::string text{rules.empty() ? kNoEgress : "egress by name:"};
  for (const std::string& rule : rules) text += " " + rule;
  for (const std::string& secret : secrets) text += "; secret " + secret;
  return text;
}

bool has_egress(const Sandbox& sandbox) {
  const auto network = sandbox.details.find("network");
  return network != sandbox.details.end() && network->second.starts_with("egress by name:");
}

Result<> check_size(const SandboxSpec& spec) {
  // The size as JSON, where a byte may take six.
  const auto size_of = [](const std::map<std::string, std::string>& all) {
    return nlohmann::json(all).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).size();
  };
  const std::size_t labels = size_of(spec.labels);
  const std::size_t size = size_of(spec.env) + labels;
  if (size > kMostSaid) {
    return fail(Errc::invalid_field,
                "the variables and labels of a sandbox may take 256 KiB together; these take " +
                    std::to_string(size / 1024) + " KiB: put the rest in a file",
                labels > size - labels ? "labels" : "env");
  }
  for (const auto& [name, value] : spec.env) {
    // Count NAME=VALUE with its zero byte (execve(2)).
    if (name.size() + value.size() + 2 <= kLongestVariable) continue;
    return fail(Errc::invalid_field, "a variable may take 128 KiB with its name: put the rest in a file", "env");
  }
  return {};
}

bool keeps_files(const SandboxSpec& spec) {
  return std::ranges::any_of(spec.pod.volumes, [](const std::string& text) {
    const auto volume = parse_volume(text);
    return volume && (volume->kind == Volume::Kind::own || volume->kind == Volume::Kind::claim);
  });
}

std::string began_anew(std::string_view lost_with) {
  return "it began anew, without the files that no volume keeps: " + std::string{lost_with};
}

std::string create_name(std::string_view prefix) {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";  // no vowels, so no words
  std::array<std::byte, kRandomLetters> random{};
  random_bytes(random);
  std::string name{prefix};
  for (const std::byte one : random) name += kLetters[std::to_integer<std::size_t>(one) % kLetters.size()];
  return name;
}

std::string_view state_word(SandboxState state) noexcept {
  const auto& words = protocol::EnumNames<SandboxState>::values;
  return words[static_cast<std::size_t>(state)].name;
}

Error no_such_sandbox(std::string_view name) {
  return {Errc::sandbox_not_found, "there is no sandbox \"" + std::string{name} + "\"", "name"};
}

Error not_running(const Sandbox& sandbox) {
  std::string message = "sandbox \"" + sandbox.name + "\" ";
  switch (sandbox.state) {
    case SandboxState::creating:
      message += "is still being created; `skiff start " + sandbox.name + "` waits for it";
      return {Errc::sandbox_not_running, std::move(message), "name"};
    case SandboxState::stopped:
      message += "is stopped";
      break;
    case SandboxState::ended:
      message += "has ended: " + sandbox.reason;
      break;
    default:
      message += "does not run any more: " + sandbox.reason;
  }
  return {Errc::sandbox_not_running, message + "; `skiff start " + sandbox.name + "` runs it again", "name"};
}

}  // namespace skiff::container
