#include "runtime/process/launch.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "base/small_file.hpp"

namespace skiff::runtime {
namespace {

using nlohmann::json;

/// The launcher's variables take at most 256 KiB, and JSON may take six bytes for one.
constexpr std::size_t kLongestPlan = std::size_t{4} << 20U;

int failed(const Error& error) {
  std::fprintf(stderr, "skiffd: launch: %s\n", error.message.c_str());
  return 1;
}

std::unexpected<Error> malformed(const char* expected) {
  return fail(Errc::invalid_field, std::string{"the file is malformed: expected "} + expected);
}

/// Removes our own variables: those of an image would be settings that whoever started the container has not chosen.
void forget_own_variables() {
  std::vector<std::string> own;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view variable{*entry};
    if (variable.starts_with("SKIFF_")) own.emplace_back(variable.substr(0, variable.find('=')));
  }
  for (const std::string& name : own) ::unsetenv(name.c_str());
}

}  // namespace

Result<LaunchPlan> parse_launch_plan(std::string_view text) {
  const json read = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!read.is_object() || !read.contains("arguments") || !read["arguments"].is_array()) {
    return malformed("an object with a list of arguments");
  }
  LaunchPlan plan;
  for (const json& argument : read["arguments"]) {
    if (!argument.is_string()) return malformed("texts as arguments");
    plan.arguments.push_back(argument.get<std::string>());
  }
  const json variables = read.value("environment", json::object());
  if (!variables.is_object()) return malformed("an object as environment");
  for (const auto& [name, value] : variables.items()) {
    if (!value.is_string() || name.empty() || name.contains('=')) return malformed("names with texts as environment");
    plan.environment.push_back(name + "=" + value.get<std::string>());
  }
  return plan;
}

int launch(std::span<const char* const> arguments) {
  if (arguments.size() != 1) {
    std::fputs("skiffd: launch takes one file\n", stderr);
    return 2;
  }
  auto text = read_small_file(arguments.front(), kLongestPlan);
  if (!text) return failed(text.error());
  auto plan = parse_launch_plan(*text);
  if (!plan) return failed(plan.error());
  std::string program = "skiffd";
  std::vector<char*> words{program.data()};
  for (std::string& argument : plan->arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  forget_own_variables();
  for (std::string& variable : plan->environment) {
    // The environment refers to the text until execve(2).
    if (::putenv(variable.data()) != 0) return failed(system_error(errno, "set a variable"));
  }
  ::execv("/proc/self/exe", words.data());
  return failed(system_error(errno, "run \"/proc/self/exe\""));
}

}  // namespace skiff::runtime
