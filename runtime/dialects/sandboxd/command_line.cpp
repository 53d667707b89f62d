#include "runtime/dialects/sandboxd/command_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/id.hpp"
#include "runtime/dialects/sandboxd/go_bool.hpp"
#include "runtime/dialects/sandboxd/options.hpp"

namespace skiff::runtime::dialects::sandboxd {
namespace {

using std::chrono::milliseconds;

struct GoFlag {
  std::string_view name;
  std::string value;       ///< the default, until one is given
  bool is_switch = false;  ///< alone it is true; a value of its own comes behind `=` only
};

std::unexpected<Error> bad_flag(std::string_view name, std::string_view value, std::string_view wanted) {
  return fail(Errc::invalid_field,
              "--" + std::string{name} + " \"" + std::string{value} + "\": expected " + std::string{wanted},
              "--" + std::string{name});
}

Result<std::int64_t> number_of(const GoFlag& flag, std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  const char* const end = flag.value.data() + flag.value.size();
  const auto parsed = std::from_chars(flag.value.data(), end, number);
  if (parsed.ec == std::errc{} && parsed.ptr == end && number >= least && number <= most) return number;
  return bad_flag(flag.name, flag.value, "a number from " + std::to_string(least) + " to " + std::to_string(most));
}

/// As Go's time.ParseDuration: "1m30s", "1.5h", "0".
Result<milliseconds> duration_of(const GoFlag& flag) {
  struct Unit {
    std::string_view name;
    double in_milliseconds;
  };
  // The longer names first: "ms" is not "m" and "s".
  constexpr std::array kUnits{Unit{"ns", 1e-6}, Unit{"us", 1e-3}, Unit{"\u00b5s", 1e-3}, Unit{"ms", 1.0},
                              Unit{"s", 1e3},   Unit{"m", 6e4},   Unit{"h", 3.6e6}};
  std::string_view rest = flag.value;
  if (rest == "0") return milliseconds{0};
  double sum = 0;
  bool is_right = !rest.empty();
  while (is_right && !rest.empty()) {
    double number = 0;
    const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), number, std::chars_format::fixed);
    is_right = parsed.ec == std::errc{} && number >= 0 && std::isfinite(number);
    if (!is_right) break;
    rest.remove_prefix(static_cast<std::size_t>(parsed.ptr - rest.data()));
    const auto unit = std::ranges::find_if(kUnits, [&](const Unit& one) { return rest.starts_with(one.name); });
    is_right = unit != kUnits.end();
    if (!is_right) break;
    sum += number * unit->in_milliseconds;
    rest.remove_prefix(unit->name.size());
  }
  if (!is_right || sum > 3.6e6 * 24 * 365) return bad_flag(flag.name, flag.value, "a time, as 10s or 1m30s");
  return milliseconds{static_cast<std::int64_t>(std::ceil(sum))};
}

bool has_variable(const char* const* environment, std::string_view name) {
  for (; *environment != nullptr; ++environment) {
    const std::string_view variable{*environment};
    if (variable.starts_with(name) && variable.substr(name.size()).starts_with('=')) return true;
  }
  return false;
}

std::string address_of(std::string_view host, std::int64_t port) {
  std::string text{host == "localhost" ? std::string_view{"127.0.0.1"} : host.empty() ? "[::]" : host};
  if (text.contains(':') && !text.starts_with('[')) text = '[' + text + ']';
  return text + ':' + std::to_string(port);
}

/// The nine flags with what was given for them, and those that its libraries add: they are taken, and set nothing.
class GoFlags {
 public:
  Result<> read(std::span<const char* const> arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      std::string_view word{arguments[i]};
      if (word.size() < 2 || word.front() != '-') break;  // the first other word ends them
      word.remove_prefix(word.starts_with("--") ? 2 : 1);
      if (word.empty()) break;
      const std::size_t equals = word.find('=');
      const std::string_view name = word.substr(0, equals);
      if (name == "h" || name == "help") {
        help_ = true;
        continue;
      }
      const auto flag = std::ranges::find(all_, name, &GoFlag::name);
      if (flag == all_.end()) {
        return fail(Errc::invalid_field, "flag provided but not defined: -" + std::string{name}, std::string{name});
      }
      if (equals != std::string_view::npos) {
        flag->value = word.substr(equals + 1);
        if (flag->is_switch && !go_bool(flag->value)) return bad_flag(name, flag->value, "true or false");
      } else if (flag->is_switch) {
        flag->value = "true";
      } else if (i + 1 < arguments.size()) {
        flag->value = arguments[++i];
      } else {
        return fail(Errc::invalid_field, "flag needs an argument: -" + std::string{name}, std::string{name});
      }
    }
    return {};
  }

  [[nodiscard]] const GoFlag& operator[](std::string_view name) const {
    return *std::ranges::find(all_, name, &GoFlag::name);
  }
  [[nodiscard]] bool help() const noexcept { return help_; }

 private:
  std::array<GoFlag, 15> all_{
      GoFlag{"listen-host", "::"}, GoFlag{"grpc-port", "9090"}, GoFlag{"rest-port", "8080"},
      GoFlag{"root-dir", "/workspace"}, GoFlag{"metadata-env-prefix", "SANDBOX_"}, GoFlag{"shutdown-timeout", "10s"},
      GoFlag{"http-idle-timeout", "60s"}, GoFlag{"stream-chunk-size", "0"}, GoFlag{"version", "false", true},
      // Of controller-runtime.
      GoFlag{"kubeconfig", ""}, GoFlag{"zap-devel", "false", true}, GoFlag{"zap-encoder", ""},
      GoFlag{"zap-log-level", ""}, GoFlag{"zap-stacktrace-level", ""}, GoFlag{"zap-time-encoding", ""}};
  bool help_ = false;
};

Result<> set_options(const GoFlags& flags) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31U;
  SKIFF_TRY(const auto chunk, number_of(flags["stream-chunk-size"], -kMost, kMost));
  constexpr std::int64_t kLeastChunk = 16;
  constexpr std::int64_t kMostChunk = std::int64_t{1} << 20U;
  if (chunk > 0) options().chunk_bytes = static_cast<std::size_t>(std::clamp(chunk, kLeastChunk, kMostChunk));
  const std::string& prefix = flags["metadata-env-prefix"].value;
  if (!prefix.empty()) options().metadata_prefix = prefix;
  return {};
}

}  // namespace

Result<std::vector<std::string>> own_arguments(std::span<const char* const> arguments, const char* const* environment) {
  GoFlags flags;
  SKIFF_TRY_VOID(flags.read(arguments));
  if (flags.help()) return std::vector<std::string>{"--help"};
  if (go_bool(flags["version"].value).value_or(false)) return std::vector<std::string>{"version"};
  SKIFF_TRY(const auto rest_port, number_of(flags["rest-port"], 1, 65'535));
  SKIFF_TRY(const auto grpc_port, number_of(flags["grpc-port"], 1, 65'535));
  if (rest_port == grpc_port) {
    return bad_flag("grpc-port", flags["grpc-port"].value, "another port than that of --rest-port");
  }
  SKIFF_TRY(const auto idle, duration_of(flags["http-idle-timeout"]));
  SKIFF_TRY(const auto shutdown, duration_of(flags["shutdown-timeout"]));
  SKIFF_TRY_VOID(set_options(flags));
  const std::string& root = flags["root-dir"].value;
  std::error_code failed;
  std::filesystem::create_directories(root, failed);
  if (failed) return std::unexpected{system_error(failed.value(), "root dir \"" + root + '"')};

  const std::string& host = flags["listen-host"].value;
  constexpr milliseconds kDay = std::chrono::hours{24};
  constexpr milliseconds kLeastIdle{10};
  // Where Go has no limit at 0, the longest is taken.
  const milliseconds idle_time = idle == milliseconds{0} ? kDay : std::clamp(idle, kLeastIdle, kDay);
  const milliseconds drain_time = std::min<milliseconds>(shutdown, std::chrono::hours{1});
  std::vector<std::string> words{
      "--dialect",       "sandboxd=" + address_of(host, rest_port) + ',' + address_of(host, grpc_port),
      "--root",          root,
      "--idle-timeout",  std::to_string(idle_time.count()),
      "--drain-timeout", std::to_string(drain_time.count())};
  if (!has_variable(environment, "SKIFF_LISTEN")) words.insert(words.end(), {"--listen", "127.0.0.1:0"});
  const std::array<std::string_view, 6> credentials{"SKIFF_TOKEN",        "SKIFF_TOKEN_FILE",
                                                    "SKIFF_TOKEN_SHA256", "SKIFF_PUBLIC_KEY_FILE",
                                                    "SKIFF_PUBLIC_KEY",   "SKIFF_ALLOW_UNAUTHENTICATED"};
  const bool has_credential =
      std::ranges::any_of(credentials, [&](std::string_view name) { return has_variable(environment, name); });
  if (!has_credential) {
    // The digest of a token that nobody has.
    std::array<std::byte, 32> digest{};
    random_bytes(digest);
    std::string hex;
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (const std::byte byte : digest) {
      hex += kDigits[std::to_integer<std::size_t>(byte >> 4U)];
      hex += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
    }
    words.insert(words.end(), {"--token-sha256", hex});
  }
  return words;
}

}  // namespace skiff::runtime::dialects::sandboxd
