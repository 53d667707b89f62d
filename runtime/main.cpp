#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/licenses.hpp"
#include "runtime/dialects/dialect.hpp"
#include "runtime/health.hpp"
#include "runtime/process/install.hpp"
#include "runtime/process/launch.hpp"
#include "runtime/process/relay.hpp"
#include "runtime/process/self_defence.hpp"
#include "runtime/serve.hpp"
#include "runtime/settings.hpp"
#include "runtime/version.hpp"

namespace {

using namespace skiff::runtime;

constexpr const char* kUsage =
    "skiffd runs commands for AI agents in this container, over HTTP and WebSocket.\n"
    "\n"
    "usage: skiffd [settings]           serve until SIGTERM\n"
    "       skiffd [settings] -- PROGRAM [ARGUMENTS]\n"
    "                                   also run a program, and exit with its status\n"
    "       skiffd health [settings]    check a running skiffd; exit status 0 or 1\n"
    "       skiffd install DIRECTORY    copy this program into DIRECTORY, for an init container\n"
    "       skiffd launch FILE          serve with the settings of a file, for `skiff --driver docker`\n"
    "       skiffd relay PORT           connect standard input and output to a port of 127.0.0.1\n"
    "       skiffd version              print the version\n"
    "       skiffd licenses             print the licenses of skiffd and of the libraries in it\n"
    "\n";

std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  return 100;
}

int usage_error(const skiff::Error& error) {
  std::fprintf(stderr, "skiffd: %s\nRun `skiffd --help` for all settings.\n", error.message.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::span<const char* const> arguments{argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)};
  const std::string_view word = arguments.empty() ? std::string_view{} : std::string_view{arguments.front()};
  // Before anything is changed that the program in its place would take for its own start.
  if (word == "launch") return launch(arguments.subspan(1));
  const auto inherited = defend_process();
  if (!inherited) {
    std::fprintf(stderr, "skiffd: %s\n", inherited.error().message.c_str());
    return 1;
  }
  if (word == "version" || word == "--version") {
    std::printf("skiffd %.*s\n", static_cast<int>(kVersion.size()), kVersion.data());
    return 0;
  }
  if (word == "licenses") {
    std::fputs(skiff::licenses().c_str(), stdout);
    return 0;
  }
  if (word == "install") return install(arguments.subspan(1));
  if (word == "relay") return relay(arguments.subspan(1));
  const bool health = word == "health";
  if (health) arguments = arguments.subspan(1);
  auto settings = read_settings(arguments, ::environ, look_around());
  if (!settings) return usage_error(settings.error());
  if (settings->help) {
    std::fputs(kUsage, stdout);
    std::fputs(settings_help(terminal_width()).c_str(), stdout);
    return 0;
  }
  return health ? check_health(*settings) : serve(std::move(*settings), *inherited, dialects::table());
}
