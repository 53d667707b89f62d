#include "container/egress/cluster/probe.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/unique_fd.hpp"
#include "protocol/net/address.hpp"

namespace skiff::container::egress {
namespace {

constexpr std::size_t kLeastWords = 5;
constexpr std::chrono::seconds kPatience{20};
constexpr std::chrono::milliseconds kBetween{100};
constexpr int kAnswerMilliseconds = 500;

/// True if something listens at that address. Other words have no answer.
bool answers(std::string_view text) {
  const auto address = protocol::Address::parse(text);
  if (!address || address->is_unix() || address->descriptor() >= 0) return false;
  const UniqueFd socket{::socket(address->family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (::connect(socket.get(), address->data(), address->size()) == 0) return true;
  if (errno != EINPROGRESS) return false;
  pollfd waits{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  if (::poll(&waits, 1, kAnswerMilliseconds) != 1) return false;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

}  // namespace

bool is_probe(std::span<const char* const> arguments) {
  return arguments.size() >= kLeastWords && std::string_view{arguments[0]} == "egress" &&
         std::string_view{arguments[1]} == "probe";
}

int probe(std::span<const char* const> arguments) {
  const bool is_fenced = std::string_view{arguments[2]} == "fenced";
  const auto until = std::chrono::steady_clock::now() + kPatience;
  bool canary = false;
  bool proxy = false;
  for (;;) {
    canary = answers(arguments[3]);
    proxy = answers(arguments[4]);
    const bool is_as_wanted = is_fenced ? proxy && !canary : canary;
    if (is_as_wanted || std::chrono::steady_clock::now() >= until) break;
    // Nothing tells a Pod when its node applies a NetworkPolicy, so it tries again.
    std::this_thread::sleep_for(kBetween);
  }
  nlohmann::json answered = nlohmann::json::array();
  for (const char* const target : arguments.subspan(kLeastWords)) {
    if (answers(target)) answered.push_back(target);
  }
  std::printf("%s\n", nlohmann::json{{"canary", canary}, {"proxy", proxy}, {"answered", answered}}.dump().c_str());
  return 0;
}

}  // namespace skiff::container::egress
