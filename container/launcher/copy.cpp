#include "container/launcher/copy.hpp"

#include <array>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/blocking_pool.hpp"
#include "base/handover.hpp"
#include "base/task_group.hpp"
#include "protocol/target.hpp"

namespace skiff::container {
namespace {

namespace files = std::filesystem;
using nlohmann::json;

/// On their way between the network and the thread that has the files.
constexpr std::size_t kOnTheWay = std::size_t{2} << 20U;
constexpr std::size_t kReadSize = std::size_t{256} << 10U;

bool ends_in_slash(const std::string& path) {
  return path.ends_with('/') || path == "." || path.ends_with("/.") || path == ".." || path.ends_with("/..");
}

/// One path on both machines: where it leads, and what to call a copy there.
struct Place {
  std::string folder;
  std::string name;
};

Place split(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", std::move(path)};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

struct RemoteEntry {
  std::string type = {};  ///< "file", "directory", "symlink"; empty when there is nothing
  std::uint64_t size = 0;
};

Task<Result<RemoteEntry>> look_at(AgentClient* agent, std::string path) {
  auto answer = co_await agent->get("/v1/files:stat?path=" + protocol::percent_encode(path));
  if (!answer) co_return std::unexpected{std::move(answer.error())};
  const auto items = answer->find("items");
  if (items == answer->end() || !items->is_array() || items->empty()) {
    co_return fail(Errc::invalid_request, "what answers there is no skiffd: it does not say what \"" + path + "\" is");
  }
  const json& item = items->front();
  const json error = object_at(item, "error");
  if (error.is_null()) co_return RemoteEntry{text_at(item, "type"), number_at(item, "size").value_or(0)};
  const auto code = find_code(text_at(error, "code"));
  if (code == Errc::path_not_found) co_return RemoteEntry{};
  co_return fail(code.value_or(Errc::io_error), text_at(error, "detail"));
}

Task<> pack_on_thread(BlockingPool* pool, files::path from, std::string name, ToReactor blocks,
                      Result<TarSummary>* outcome) {
  auto pack = [&] {
    auto summary = pack_tar(from, name, [&blocks](std::string block) { return blocks.push(std::move(block)); });
    blocks.finish();
    return summary;
  };
  *outcome = co_await pool->run(std::move(pack));
}

using Total = std::optional<std::uint64_t>;

Task<Result<>> send_blocks(AgentClient* agent, ToReactor blocks, CopyProgress progress, Total total) {
  std::uint64_t sent = 0;
  for (;;) {
    auto block = co_await blocks.pop();
    if (!block) co_return Result<>{};
    const std::array parts{std::string_view{*block}};
    if (auto written = co_await agent->http().write(parts); !written) {
      blocks.leave();
      co_return written;
    }
    sent += block->size();
    if (progress) progress(sent, total);
  }
}

Task<> unpack_on_thread(BlockingPool* pool, ToThread blocks, TarTarget target, Result<TarSummary>* outcome) {
  auto unpack = [&] {
    auto summary = unpack_tar([&blocks](std::span<char> into) { return blocks.read(into); }, target);
    blocks.leave();
    return summary;
  };
  *outcome = co_await pool->run(std::move(unpack));
}

Task<Result<>> receive_blocks(AgentClient* agent, ToThread blocks, CopyProgress progress, Total total) {
  std::uint64_t received = 0;
  for (;;) {
    std::string block(kReadSize, '\0');
    auto got = co_await agent->http().read_some(block);
    if (!got) co_return std::unexpected{std::move(got.error())};
    if (*got == 0) co_return Result<>{};
    received += *got;
    block.resize(*got);
    if (progress) progress(received, total);
    // Nobody takes it any more: the thread has its reason.
    if (!co_await blocks.push(std::move(block))) co_return Result<>{};
  }
}

}  // namespace

Task<Result<TarSummary>> copy_in(AgentClient* agent, files::path from, std::string to, CopyProgress progress) {
  std::error_code missing;
  if (files::symlink_status(from, missing).type() == files::file_type::not_found) {
    co_return fail(Errc::path_not_found, "open \"" + from.string() + "\": No such file or directory");
  }
  auto there = co_await look_at(agent, to);
  if (!there) co_return std::unexpected{std::move(there.error())};
  const bool contents = from.string().ends_with("/.") || from == ".";
  Place place = split(to);
  if (contents) {
    place = {to, "."};
  } else if (there->type == "directory" || ends_in_slash(to)) {
    place = {to, files::absolute(from).lexically_normal().filename().string()};
    if (place.name.empty()) place.name = split(files::absolute(from).lexically_normal().string()).name;
  }
  files::path source = contents ? from.parent_path() : std::move(from);
  if (source.empty()) source = ".";
  if (!contents && source.filename().empty()) source = source.parent_path();
  BlockingPool pool{"skiff-files", 1};
  Total total;
  if (progress) {
    auto count = [&] { return tar_size(source, place.name); };
    total = co_await pool.run(std::move(count));
  }
  if (auto begun = co_await agent->begin_upload("/v1/files:archive?path=" + protocol::percent_encode(place.folder));
      !begun) {
    co_return std::unexpected{std::move(begun.error())};
  }
  ToReactor blocks{agent->executor(), kOnTheWay};
  Result<TarSummary> packed = fail(Errc::cancelled, "nothing was packed");
  // The thread ends by itself: when it has packed all, or when nobody takes its blocks any more.
  TaskGroup group{agent->executor()};
  group.spawn("pack", pack_on_thread(&pool, std::move(source), place.name, blocks, &packed));
  std::exception_ptr failure;
  Result<> sent;
  try {
    sent = co_await send_blocks(agent, blocks, std::move(progress), total);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  blocks.leave();
  co_await group.join();
  if (failure) std::rethrow_exception(failure);
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::enable_terminal_cancellation());
  if (sent && !packed) {
    agent->http().close();  // without its end the agent unpacks no more of it
    co_return std::unexpected{std::move(packed.error())};
  }
  auto answer = co_await agent->end_upload();
  if (!answer) co_return std::unexpected{std::move(answer.error())};
  co_return packed;
}

Task<Result<TarSummary>> copy_out(AgentClient* agent, std::string from, files::path to, CopyProgress progress) {
  auto there = co_await look_at(agent, from);
  if (!there) co_return std::unexpected{std::move(there.error())};
  if (there->type.empty()) co_return fail(Errc::path_not_found, "open \"" + from + "\": No such file or directory");
  const bool contents = from.ends_with("/.") || from == ".";
  const bool is_folder = there->type == "directory";
  // How much is in a folder nobody knows without walking it.
  const Total total = there->type == "file" ? Total{tar_size(there->size)} : Total{};
  std::error_code error;
  std::error_code missing;
  const bool into = files::is_directory(to, missing) || ends_in_slash(to.string());
  if (into && !contents) to /= split(from).name;
  if (!to.has_filename()) to = to.parent_path();
  to = files::absolute(to).lexically_normal();
  if (!to.has_filename()) to = to.parent_path();
  if (is_folder) files::create_directories(to, error);
  if (!error) files::create_directories(to.parent_path(), error);
  if (error) co_return std::unexpected{system_error(error.value(), "create \"" + to.string() + "\"")};
  auto head = co_await agent->open("/v1/files:archive?path=" + protocol::percent_encode(from));
  if (!head) co_return std::unexpected{std::move(head.error())};
  BlockingPool pool{"skiff-files", 1};
  ToThread blocks{agent->executor(), kOnTheWay};
  TarTarget target{.path = std::move(to), .is_file = !is_folder};
  Result<TarSummary> unpacked = fail(Errc::cancelled, "nothing was unpacked");
  TaskGroup group{agent->executor()};
  group.spawn("unpack", unpack_on_thread(&pool, blocks, std::move(target), &unpacked));
  Result<> received = fail(Errc::cancelled, "the transfer was given up");
  std::exception_ptr failure;
  try {
    received = co_await receive_blocks(agent, blocks, std::move(progress), total);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  blocks.finish(received.has_value());
  co_await group.join();
  agent->http().close();
  if (failure) std::rethrow_exception(failure);
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::enable_terminal_cancellation());
  if (!received) co_return std::unexpected{std::move(received.error())};
  co_return unpacked;
}

}  // namespace skiff::container
