#include "container/cli/options.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>

namespace skiff::container {

std::vector<Setting> option_rows(Options& options) {
  constexpr std::string_view kGroup = "Flags of every command";
  return {
      {.flag = "driver",
       .environment = "SKIFF_DRIVER",
       .target = setting::Choice{&options.driver, {"local"}},
       .value = "DRIVER",
       .group = kGroup,
       .help = "What hosts the sandbox. local: a process on this machine, which is no isolation."},
      {.flag = "output",
       .environment = "SKIFF_OUTPUT",
       .target = setting::Choice{&options.output, {"table", "json", "yaml", "name"}},
       .value = "FORMAT",
       .group = kGroup,
       .help = "How to print: table, json, yaml, or name for the names alone.",
       .letter = 'o'},
      {.flag = "owner",
       .environment = "SKIFF_OWNER",
       .target = setting::Text{&options.owner},
       .value = "OWNER",
       .group = kGroup,
       .help = "Whose sandboxes are meant by ps, gc and --all, and whose new ones are.",
       .shown_default = "user@host"},
      {.flag = "config",
       .environment = "SKIFF_CONFIG",
       .target = setting::Text{&options.config},
       .value = "FILE",
       .group = kGroup,
       .help = "Defaults of flags, as YAML; variables and flags win over it.",
       .shown_default = "~/.config/skiff/config.yaml"},
      {.flag = "quiet",
       .environment = "SKIFF_QUIET",
       .target = setting::Switch{&options.quiet},
       .value = "",
       .group = kGroup,
       .help = "Say nothing of progress on stderr.",
       .letter = 'q'},
  };
}

std::string default_owner() {
  std::string owner = "unknown";
  if (const passwd* user = ::getpwuid(::geteuid()); user != nullptr) {
    owner = user->pw_name;
  } else {
    owner = std::to_string(::geteuid());
  }
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0 && host[0] != 0) owner += std::string{"@"} + host.data();
  return owner;
}

}  // namespace skiff::container
