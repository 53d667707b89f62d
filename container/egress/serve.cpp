#include "container/egress/serve.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "base/small_file.hpp"
#include "container/egress/audit.hpp"
#include "container/egress/policy.hpp"
#include "container/egress/proxy.hpp"
#include "container/egress/terminate/file_terminator.hpp"
#include "container/host/host_process.hpp"
#include "container/net/public_address.hpp"
#include "container/net/resolver.hpp"
#include "protocol/json/schema.hpp"
#include "protocol/net/listener.hpp"
#include "protocol/net/trust/program_trust.hpp"

namespace skiff::container::egress {
namespace {

using protocol::Address;
using protocol::Listener;

/// No address is public while those of this machine are not known.
bool is_public_now(const Address& address) {
  const auto own = net::own_addresses();
  return own && net::is_public(address, *own);
}

constexpr std::size_t kWords = 6;
constexpr std::size_t kHeld = std::size_t{16} << 20U;
constexpr int kBacklog = 256;

int failed(const std::string& why) {
  std::fprintf(stderr, "skiff egress serve: %s\n", why.c_str());
  return 1;
}

template <class Number>
Number number_of(std::string_view text) {
  Number value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Takes a bound socket. The kernel tells those who connect which process has called listen(2) last.
Result<std::unique_ptr<Listener>> take(Executor executor, int number) {
  if (::listen(number, kBacklog) != 0) return std::unexpected{system_error(errno, "listen")};
  UniqueFd moved{::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)};
  const UniqueFd nothing{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  if (!moved || !nothing || ::dup2(nothing.get(), number) < 0) {
    return std::unexpected{system_error(errno, "move a socket")};
  }
  return Listener::take(std::move(executor), std::move(moved));
}

Result<> fill(const std::filesystem::path& file, std::string_view text) {
  const UniqueFd opened{::open(file.c_str(), O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC)};
  const bool is_written = opened && ::write(opened.get(), text.data(), text.size()) == std::ssize(text);
  if (!is_written) return std::unexpected{system_error(errno, "write \"" + file.string() + "\"")};
  return {};
}

/// The secrets of the sandbox; null if it has none. Its files of certificates are filled then.
Result<std::unique_ptr<FileTerminator>> open_secrets(const std::filesystem::path& directory) {
  constexpr std::size_t kLargest = std::size_t{64} << 10U;
  auto text = read_small_file(directory / kSecretsFile, kLargest);
  if (!text && text.error().code == Errc::path_not_found) return nullptr;
  if (!text) return std::unexpected{std::move(text.error())};
  SKIFF_TRY(const auto names, protocol::decode<std::vector<std::string>>(*text));
  // The key and the values are in this memory: neither a core file nor another process of the user may have it.
  (void)::prctl(PR_SET_DUMPABLE, 0);
  SKIFF_TRY(auto made, FileTerminator::create(SecretStore{directory.parent_path().parent_path()}, names));
  SKIFF_TRY(const auto files, protocol::trust_files(made->ca_pem()));
  for (const auto& [name, content] : files) {
    SKIFF_TRY_VOID(fill(directory / std::string{kTrustPrefix}.append(name), content));
  }
  return made;
}

/// Reads the policy again, and says how that went.
std::string reload(Proxy& proxy, const std::filesystem::path& directory) {
  auto policy = Policy::load(directory / kPolicyFile);
  if (!policy) return policy.error().message + "\n";
  proxy.replace(std::move(*policy));
  return std::string{kDone};
}

/// Ends the io_context when the process has ended.
Task<> end_with(boost::asio::posix::basic_stream_descriptor<Executor>* process, Proxy* proxy, Listener* control,
                Listener* listener, boost::asio::io_context* io) {
  co_await process->async_wait(boost::asio::posix::descriptor_base::wait_read, use_task);
  listener->close();
  control->close();
  co_await proxy->stop();
  io->stop();
}

}  // namespace

bool is_serve(std::span<const char* const> arguments) {
  return arguments.size() == kWords && std::string_view{arguments[0]} == "egress" &&
         std::string_view{arguments[1]} == "serve";
}

int serve(std::span<const char* const> arguments) {
  const std::filesystem::path directory{arguments[2]};
  const std::string name{arguments[3]};
  const auto pid = number_of<pid_t>(arguments[4]);
  const auto ticks = number_of<std::uint64_t>(arguments[5]);
  std::signal(SIGPIPE, SIG_IGN);
  UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  const auto found = find_process(pid);
  if (!process || !found || found->started_ticks != ticks) return failed("the sandbox has ended");

  boost::asio::io_context io;
  const Executor executor = io.get_executor();
  auto listener = take(executor, STDIN_FILENO);
  if (!listener) return failed(listener.error().message);
  auto control = take(executor, STDOUT_FILENO);
  if (!control) return failed(control.error().message);
  const auto secrets = open_secrets(directory);
  if (!secrets) return failed(secrets.error().message);
  FileAudit audit{directory, name};
  Room room{kHeld};
  Proxy proxy{executor,
              {.sandbox = name,
               .holder = name,
               .room = &room,
               .resolve = net::system_resolver(),
               .is_public = is_public_now,
               .audit = &audit,
               .terminator = secrets->get()}};
  if (const std::string said = reload(proxy, directory); said != kDone) (void)failed(said);
  boost::asio::posix::basic_stream_descriptor<Executor> ended{executor, process.release()};
  boost::asio::co_spawn(executor, end_with(&ended, &proxy, control->get(), listener->get(), &io),
                        boost::asio::detached);
  boost::asio::co_spawn(
      executor, (*listener)->accept_all([&](UniqueFd socket, const Address&) { proxy.serve(std::move(socket)); }),
      boost::asio::detached);
  boost::asio::co_spawn(executor, (*control)->accept_all([&](UniqueFd socket, const Address&) {
    const std::string said = reload(proxy, directory);
    (void)::send(socket.get(), said.data(), said.size(), MSG_NOSIGNAL);
  }),
                        boost::asio::detached);
  io.run();
  return 0;
}

}  // namespace skiff::container::egress
