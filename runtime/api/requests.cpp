#include "runtime/api/requests.hpp"

#include <charconv>
#include <csignal>
#include <cstring>

#include "protocol/json/base64.hpp"

namespace skiff::runtime::api {

Result<> CommandRequest::validate() const {
  if (command.has_value() == argv.has_value()) {
    return fail(command ? Errc::invalid_field : Errc::missing_field, "give exactly one of command and argv",
                "/command");
  }
  if (argv && argv->empty()) return fail(Errc::invalid_field, "argv must name a program", "/argv");
  if (stdin_text && stdin_base64)
    return fail(Errc::invalid_field, "give only one of stdin and stdin_base64", "/stdin_base64");
  return {};
}

Result<sessions::CommandSpec> CommandRequest::spec(std::string traceparent) const {
  sessions::CommandSpec spec;
  spec.id = id.value_or("");
  spec.line = command;
  if (argv) spec.argv = *argv;
  spec.cwd = cwd;
  spec.env = env;
  spec.secret_env = secret_env;
  spec.user = user;
  if (stdin_text) spec.input = *stdin_text;
  if (stdin_base64) {
    auto bytes = protocol::decode_base64(*stdin_base64);
    if (!bytes) return fail(Errc::invalid_field, "not base64 (RFC 4648 section 4, with padding)", "/stdin_base64");
    spec.input = std::move(*bytes);
  }
  spec.input_open = stdin_open;
  spec.terminal = tty;
  spec.timeout = timeout;
  spec.idle_timeout = idle_timeout;
  spec.kill_grace = kill_grace;
  if (output.keep_bytes) spec.keep_bytes = static_cast<std::size_t>(*output.keep_bytes);
  spec.overflow = output.overflow;
  spec.merge_stderr = output.merge_stderr;
  spec.checksum = output.checksum;
  spec.saves_state = mode != Mode::background;
  spec.limits = limits;
  spec.traceparent = std::move(traceparent);
  return spec;
}

Result<sessions::SessionSpec> SessionRequest::spec() const {
  if (shell.path && !shell.path->starts_with('/')) {
    return fail(Errc::invalid_field, "the shell's path must be absolute", "/shell/path");
  }
  sessions::SessionSpec spec;
  spec.id = id.value_or("");
  spec.root = root;
  for (const ExtraRootRequest& extra : extra_roots) {
    if (!extra.path.starts_with('/')) {
      return fail(Errc::invalid_field, "an extra root's path must be absolute", "/extra_roots");
    }
    spec.extra_roots.push_back({extra.path, extra.access});
  }
  spec.isolation = isolation;
  spec.cwd = cwd;
  spec.env = env;
  spec.secret_env = secret_env;
  spec.env_inherit = env_inherit;
  spec.env_unset = env_unset;
  spec.user = user;
  spec.shell = shell.path;
  spec.login_shell = shell.login;
  spec.stateful_shell = shell.stateful;
  spec.keep_functions = shell.functions;
  spec.labels = labels;
  spec.idle_timeout = idle_timeout;
  spec.default_timeout = default_timeout;
  spec.limits = limits;
  return spec;
}

Result<int> signal_number(std::string_view text, std::string_view field_name) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) {
    if (number >= 1 && number <= SIGRTMAX) return number;
  } else {
    const std::string_view bare = text.starts_with("SIG") ? text.substr(3) : text;
    for (int signal = 1; signal < SIGRTMIN; ++signal) {
      const char* known = ::sigabbrev_np(signal);
      if (known != nullptr && bare == known) return signal;
    }
  }
  return fail(Errc::invalid_field, "no such signal; names are those of signal(7), such as TERM",
              std::string{field_name});
}

std::string signal_name(int signal) {
  const char* known = ::sigabbrev_np(signal);
  return known != nullptr ? std::string{"SIG"} + known : "SIG" + std::to_string(signal);
}

}  // namespace skiff::runtime::api
