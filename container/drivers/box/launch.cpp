#include "container/drivers/box/launch.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "container/drivers/box/enter.hpp"
#include "container/drivers/box/ids.hpp"
#include "container/drivers/box/network/pasta.hpp"
#include "container/host/state_directory.hpp"
#include "protocol/net/address.hpp"

namespace skiff::container::box {
namespace {

namespace files = std::filesystem;

std::string quoted_path(const files::path& path) {
  return "\"" + path.string() + "\"";
}

/// A directory by its descriptor. Its path for a socket has few bytes, whatever the directory's own has (unix(7): 107).
struct OpenDirectory {
  UniqueFd fd;
  [[nodiscard]] Result<protocol::Address> address(const std::string& name) const {
    return protocol::Address::parse("unix:/proc/self/fd/" + std::to_string(fd.get()) + "/" + name);
  }
};

Result<OpenDirectory> open_directory(const files::path& path) {
  OpenDirectory opened{UniqueFd{::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)}};
  if (!opened.fd) return std::unexpected{system_error(errno, "open " + quoted_path(path))};
  return opened;
}

Result<> create_for(const files::path& path, mode_t mode, const HostRecord& record) {
  if (::mkdir(path.c_str(), mode) != 0) {
    if (errno == EEXIST) return {};
    return std::unexpected{system_error(errno, "create " + quoted_path(path))};
  }
  // By descriptor and without links: nothing below the directory of a sandbox is trusted once it has run.
  const UniqueFd made{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  const bool is_ours = record.user == ::geteuid() || ::fchown(made.get(), record.user, record.group) == 0;
  if (!made || !is_ours || ::fchmod(made.get(), mode) != 0) {
    return std::unexpected{system_error(errno, "create " + quoted_path(path))};
  }
  return {};
}

Result<std::pair<UniqueFd, UniqueFd>> socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return std::unexpected{system_error(errno, "create a socket pair")};
  }
  return std::pair<UniqueFd, UniqueFd>{ends[0], ends[1]};
}

}  // namespace

std::string socket_of(std::string_view dialect_port) {
  return std::string{dialect_port} + ".sock";
}

Result<UniqueFd> bind_socket(const files::path& directory, const std::string& name) {
  SKIFF_TRY(auto opened, open_directory(directory));
  SKIFF_TRY(auto address, opened.address(name));
  UniqueFd socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  (void)::unlinkat(opened.fd.get(), name.c_str(), 0);
  // The mode of the socket becomes that of its file.
  if (!socket || ::fchmod(socket.get(), 0600) != 0 || ::bind(socket.get(), address.data(), address.size()) != 0) {
    return std::unexpected{system_error(errno, "listen on " + quoted_path(directory / name))};
  }
  return socket;
}

Result<UniqueFd> connect_socket(const files::path& directory, const std::string& name) {
  SKIFF_TRY(auto opened, open_directory(directory));
  SKIFF_TRY(auto address, opened.address(name));
  UniqueFd socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!socket || ::connect(socket.get(), address.data(), address.size()) != 0) {
    if (errno == EAGAIN) return fail(Errc::resource_exhausted, "the agent has too many connections to accept");
    return std::unexpected{system_error(errno, "connect to " + quoted_path(directory / name))};
  }
  return socket;
}

pid_t peer_process(const UniqueFd& connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

pid_t listening_process(const files::path& directory) {
  const auto connection = connect_socket(directory, std::string{kAgentSocket});
  return connection ? peer_process(*connection) : 0;
}

Result<> create_files(const HostRecord& record, const files::path& root) {
  for (const auto& [name, target] : state_directories()) {
    const bool is_shared = name.ends_with("tmp");
    SKIFF_TRY_VOID(create_for(root / name, is_shared ? 01777 : 0755, record));
  }
  if (!record.mount || record.mount->read_only) return {};
  SKIFF_TRY_VOID(create_for(root / "changes", 0700, record));
  for (const char* name : {"upper", "work"}) {
    SKIFF_TRY_VOID(create_for(root / "changes" / name, 0755, record));
  }
  return {};
}

Result<StartedBox> start_box(Executor executor, int errors) {
  SKIFF_TRY(auto input, socket_pair());
  SKIFF_TRY(auto output, socket_pair());
  ::fcntl(output.first.get(), F_SETFL, O_NONBLOCK);
  SKIFF_TRY(auto process, start_daemon({.argv = {"/proc/self/exe", std::string{kEnterCommand}},
                                        .directory = "/",
                                        .input = input.second.get(),
                                        .output = output.second.get(),
                                        .errors = errors,
                                        .is_daemon = true}));
  return StartedBox{std::move(process), protocol::Stream{executor, std::move(output.first), "skiffd"},
                    std::move(input.first)};
}

Task<Result<std::optional<Refusal>>> try_box(std::chrono::milliseconds limit, std::vector<std::string> pasta) {
  const Ids ids = new_ids();
  const Executor executor = co_await boost::asio::this_coro::executor;
  Handover given{.plan = create_trial(look_at_machine({}), ids.user, ids.group), .listeners = {}, .lock = {}};
  if (!pasta.empty()) given.plan.barred = barred_prefixes();
  given.plan.pasta = std::move(pasta);
  SKIFF_CO_TRY(auto started, start_box(executor, -1));
  SKIFF_CO_TRY_VOID(send_handover(started.input.get(), given));
  AgentLines lines{std::move(started.output), limit};
  std::optional<pid_t> box;
  Result<std::optional<Refusal>> outcome = fail(Errc::io_error, "the trial has ended without a result");
  for (;;) {
    auto line = co_await lines.next();
    if (!line) break;
    if (const auto created = parse_created(*line)) box = created;
    if (auto refusal = parse_refusal(*line)) {
      outcome = std::move(refusal);
      break;
    }
    if (*line + "\n" == kPassedLine) {
      outcome = std::optional<Refusal>{};
      break;
    }
  }
  if (box) SKIFF_CO_TRY_VOID(co_await end_process(process_or_ended(*box), {}));
  SKIFF_CO_TRY_VOID(co_await end_process(std::move(started.process), {}));
  co_return outcome;
}

}  // namespace skiff::container::box
