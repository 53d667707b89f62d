#include "container/agent/copy/copy.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <optional>
#include <ranges>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/async/blocking_pool.hpp"
#include "base/async/channel.hpp"
#include "base/async/finally.hpp"
#include "base/async/task_group.hpp"
#include "container/agent/answer.hpp"
#include "container/agent/copy/left_out.hpp"
#include "protocol/http/target.hpp"

namespace skiff::container {
namespace {

namespace files = std::filesystem;
using nlohmann::json;

/// Most bytes on their way between the network and the thread that has the files.
constexpr std::size_t kOnTheWay = std::size_t{2} << 20U;
constexpr std::size_t kReadSize = std::size_t{64} << 10U;

bool ends_in_slash(const std::string& path) {
  return path.ends_with('/') || path == "." || path.ends_with("/.") || path == ".." || path.ends_with("/..");
}

/// The path without the slash at its end that says that it is a directory.
std::string without_slash(std::string path) {
  while ((path.size() > 1 && path.ends_with('/')) || path.ends_with("/.")) path.pop_back();
  return path.empty() ? "/" : path;
}

/// One path on both machines: where it leads, and what to call a copy there.
struct NamedPath {
  std::string directory;
  std::string name;
};

NamedPath split(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", std::move(path)};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

struct RemoteEntry {
  std::string type = {};  ///< "file", "directory", "symlink"; empty when the path does not exist
  std::uint64_t size = 0;
  std::string target = {};  ///< target of a link
  std::string mode = {};    ///< octal digits
};

/// `session_files` is the result of `files_of`.
Task<Result<RemoteEntry>> look_at(AgentClient* agent, std::string session_files, std::string path) {
  SKIFF_CO_TRY(auto answer, co_await agent->get(session_files + ":stat?path=" + protocol::percent_encode(path)));
  AgentAnswer page{answer, "its answer"};
  const json& items = page.list("items");
  SKIFF_CO_TRY_VOID(page.check());
  if (items.empty()) co_return std::unexpected{foreign_answer("it does not say what \"" + path + "\" is")};
  AgentAnswer item{items.front(), "an item of its list"};
  RemoteEntry entry{item.text("type"), item.number("size").value_or(0), item.text("target"), item.text("mode")};
  const std::string code = item.text("error/code");
  const std::string detail = item.text("error/detail");
  SKIFF_CO_TRY_VOID(item.check());
  if (code.empty()) co_return entry;
  const auto known = find_code(code);
  if (known == Errc::path_not_found) co_return RemoteEntry{};
  co_return fail(known.value_or(Errc::io_error), detail);
}

Error nothing_there(const std::string& path) {
  return {Errc::path_not_found, "open \"" + path + "\": No such file or directory"};
}

/// A path after the links at its end were followed, as the sandbox would follow them, and the entry there.
struct Led {
  std::string path;
  RemoteEntry entry;
};

Task<Result<Led>> follow(AgentClient* agent, std::string session_files, std::string path) {
  constexpr int kMostLinks = 40;  // path_resolution(7)
  Led at{.path = path, .entry = {}};
  for (int links = 0; links <= kMostLinks; ++links) {
    SKIFF_CO_TRY(auto entry, co_await look_at(agent, session_files, at.path));
    if (entry.type.empty()) co_return std::unexpected{nothing_there(path)};
    at.entry = std::move(entry);
    if (at.entry.type != "symlink") co_return at;
    const std::string& target = at.entry.target;
    if (target.empty()) co_return std::unexpected{foreign_answer("it does not say where a link leads")};
    at.path = target.starts_with('/') ? target : split(at.path).directory + "/" + target;
  }
  co_return fail(Errc::too_many_links, "open \"" + path + "\": Too many levels of symbolic links");
}

Error leads_nowhere(const std::string& link) {
  return {Errc::path_not_found, "\"" + link + "\" is a link that leads nowhere, and nothing is written through it"};
}

Error no_place_for_a_copy(const std::string& path) {
  return {Errc::not_a_regular_file,
          "\"" + path + "\" is there, and is neither a file nor a directory: it would be lost"};
}

/// Mode of a directory that is copied: its archive contains the directory's entries, and not the directory itself.
std::optional<unsigned> mode_of(const RemoteEntry& directory) {
  const std::string& text = directory.mode;
  unsigned mode = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return mode;
}

/// The name of a copy in another directory.
Result<std::string> name_of(const files::path& from) {
  files::path plain = from;
  while (!plain.has_filename() && plain.has_relative_path()) plain = plain.parent_path();
  if (!plain.has_filename()) return ".";
  if (plain.filename() != "." && plain.filename() != "..") return plain.filename().string();
  std::error_code error;
  const files::path real = files::canonical(plain, error);
  if (error) return std::unexpected{system_error(error.value(), "find \"" + from.string() + "\"")};
  return real.filename().string();
}

/// Directories of this machine that were made for a copy. Those that are still empty when this goes are removed:
/// nothing was copied into them.
class MadeForCopy {
 public:
  MadeForCopy() = default;
  ~MadeForCopy() {
    for (const files::path& one : made_ | std::views::reverse) {
      if (::rmdir(one.c_str()) != 0) return;
    }
  }
  MadeForCopy(const MadeForCopy&) = delete;
  MadeForCopy& operator=(const MadeForCopy&) = delete;

  /// As `mkdir -p`.
  std::error_code make(const files::path& directory) {
    std::error_code error;
    if (files::is_directory(directory, error)) return {};
    if (directory.has_relative_path()) {
      if (error = make(directory.parent_path()); error) return error;
    }
    if (files::create_directory(directory, error)) made_.push_back(directory);
    return error;
  }
  void keep() noexcept { made_.clear(); }

 private:
  std::vector<files::path> made_;
};

/// Where `to` really is: a link that is there leads to it. Makes what is missing, for a file all but that.
Result<files::path> create_destination(files::path to, bool is_directory, MadeForCopy& made) {
  while (to.has_parent_path() && to.has_relative_path() && (!to.has_filename() || to.filename() == ".")) {
    to = to.parent_path();
  }
  std::error_code error;
  const auto refused = [&](const char* attempted) {
    return std::unexpected{system_error(error.value(), std::string{attempted} + " \"" + to.string() + "\"")};
  };
  const files::path whole = files::absolute(to, error);
  if (error) return std::unexpected{system_error(error.value(), "find the current directory")};
  std::error_code unseen;
  const auto there = files::status(whole, unseen);
  if (!files::exists(there) && files::is_symlink(files::symlink_status(whole, unseen))) {
    return std::unexpected{leads_nowhere(to.string())};
  }
  if (files::exists(there) && !files::is_regular_file(there) && !files::is_directory(there)) {
    return std::unexpected{no_place_for_a_copy(to.string())};
  }
  if (!files::exists(there)) error = made.make(is_directory ? whole : whole.parent_path());
  if (!error && is_directory && files::is_regular_file(there)) error = std::make_error_code(std::errc::not_a_directory);
  if (error) return refused("create");
  if (is_directory || files::exists(there)) {
    files::path real = files::canonical(whole, error);
    if (error) return refused("find");
    return real;
  }
  const files::path above = files::canonical(whole.parent_path(), error);
  if (error) return refused("find");
  return above / whole.filename();
}

Task<> produce_on_thread(BlockingPool* pool, ByteProducer bytes, ToReactor blocks, Result<TarSummary>* outcome) {
  auto produce = [&] {
    auto summary = bytes.produce([&blocks](std::string block) { return blocks.push(std::move(block)); });
    blocks.finish();
    return summary;
  };
  *outcome = co_await pool->run(std::move(produce));
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

/// Reads until `into` is full, or the bytes end: the network gives them in small pieces, and each would be a write to
/// the file.
std::optional<std::size_t> read_full(ToThread& blocks, std::span<char> into) {
  std::size_t size = 0;
  while (size < into.size()) {
    const auto got = blocks.read(into.subspan(size));
    // What came before a cut belongs to the file that the cut is in.
    if (!got && size == 0) return std::nullopt;
    if (!got || *got == 0) break;
    size += *got;
  }
  return size;
}

Task<> unpack_on_thread(BlockingPool* pool, ToThread blocks, TarTarget target, Result<TarSummary>* outcome) {
  auto unpack = [&] {
    auto summary = unpack_tar([&blocks](std::span<char> into) { return read_full(blocks, into); }, target);
    blocks.leave();
    return summary;
  };
  *outcome = co_await pool->run(std::move(unpack));
}

Task<Result<>> receive_blocks(AgentClient* agent, ToThread blocks, CopyProgress progress, Total total) {
  std::uint64_t received = 0;
  std::string buffer(kReadSize, '\0');
  for (;;) {
    SKIFF_CO_TRY(auto got, co_await agent->http().read_some(buffer));
    if (got == 0) co_return Result<>{};
    received += got;
    // A block has the size of what was read: the queue counts no unused memory.
    std::string block = buffer.substr(0, got);
    if (progress) progress(received, total);
    // The thread takes no more blocks; its result says why.
    if (!co_await blocks.push(std::move(block))) co_return Result<>{};
  }
}

/// Why a copy is not whole, and what of it is missing.
Error incomplete(const std::string& from, const Result<>& received, const Result<TarSummary>& unpacked) {
  const Error& first = received ? unpacked.error() : received.error();
  Error error{first.code, "\"" + from + "\" was not copied whole: " + first.message, first.field};
  if (!received && !unpacked) error.message += "; " + unpacked.error().message;
  return error;
}

}  // namespace

Task<Result<TarSummary>> upload(AgentClient* agent, std::string path, ByteProducer bytes, CopyProgress progress,
                                Total total) {
  SKIFF_CO_TRY_VOID(co_await agent->begin_upload(std::move(path)));
  BlockingPool pool{"skiff-files", 1};
  ToReactor blocks{agent->executor(), kOnTheWay};
  Result<TarSummary> produced = fail(Errc::cancelled, "nothing was sent");
  // The thread ends by itself when it has given all blocks, or when the receiver has left.
  TaskGroup group{agent->executor()};
  const std::function<void()> interrupt = bytes.interrupt;
  auto send = [&] {
    group.spawn("produce", produce_on_thread(&pool, std::move(bytes), blocks, &produced));
    return send_blocks(agent, blocks, std::move(progress), total);
  };
  const Result<> sent = co_await finally(std::move(send), [&] {
    blocks.leave();
    if (interrupt) interrupt();
    return group.join();
  });
  if (sent && !produced) {
    agent->http().close();  // without the end of the body the agent keeps none of it
    co_return std::unexpected{std::move(produced.error())};
  }
  SKIFF_CO_TRY_VOID(co_await agent->end_upload());
  co_return produced;
}

/// The destination of a copy: if `to` is a link, the place that it leads to, as for cp(1).
Task<Result<Led>> destination(AgentClient* agent, std::string session_files, std::string to) {
  SKIFF_CO_TRY(auto there, co_await look_at(agent, session_files, to));
  if (there.type == "symlink") {
    auto led = co_await follow(agent, session_files, to);
    if (led || led.error().code != Errc::path_not_found) co_return led;
    co_return std::unexpected{leads_nowhere(to)};
  }
  if (!there.type.empty() && there.type != "file" && there.type != "directory") {
    co_return std::unexpected{no_place_for_a_copy(to)};
  }
  co_return Led{.path = std::move(to), .entry = std::move(there)};
}

Task<Result<TarSummary>> copy_in(AgentClient* agent, files::path from, std::string to, CopyProgress progress,
                                 std::string session) {
  std::error_code missing;
  if (files::symlink_status(from, missing).type() == files::file_type::not_found) {
    co_return fail(Errc::path_not_found, "open \"" + from.string() + "\": No such file or directory");
  }
  const bool contents = from.string().ends_with("/.") || from == ".";
  NamedPath place{to, "."};
  SKIFF_CO_TRY(auto there, co_await destination(agent, files_of(session), without_slash(to)));
  if (!contents && (ends_in_slash(to) || there.entry.type == "directory")) {
    SKIFF_CO_TRY(place.name, name_of(from));
  } else if (there.entry.type != "directory") {
    // A directory that is made for the contents of another one is as that is.
    NamedPath named = split(std::move(there.path));
    if (named.name != "..") place = std::move(named);
  }
  Total total;
  if (progress) {
    BlockingPool pool{"skiff-files", 1};
    auto count = [&] { return tar_size(from, place.name); };
    total = co_await pool.run(std::move(count));
  }
  ByteProducer tar{.produce = [source = std::move(from), name = place.name](const TarSink& sink) {
    return pack_tar(source, name, sink);
  }};
  std::string path = files_of(session) + ":archive?path=" + protocol::percent_encode(place.directory);
  co_return co_await upload(agent, std::move(path), std::move(tar), std::move(progress), total);
}

Task<Result<TarSummary>> copy_out(AgentClient* agent, std::string from, files::path to, CopyProgress progress,
                                  std::string session) {
  SKIFF_CO_TRY(auto there, co_await follow(agent, files_of(session), from));
  // A copy cannot be called `..`: it would be beside its destination.
  const std::string name = split(from).name;
  const bool contents = name == "." || name == "..";
  const bool is_directory = there.entry.type == "directory";
  // The size of a directory is unknown until the agent has walked it.
  const Total total = there.entry.type == "file" ? Total{tar_size(there.entry.size)} : Total{};
  std::error_code missing;
  const bool into = files::is_directory(to, missing) || ends_in_slash(to.string());
  if (into && !contents) to /= name;
  const bool is_new = !files::exists(to, missing);
  MadeForCopy made;
  SKIFF_CO_TRY(to, create_destination(std::move(to), is_directory, made));
  std::string archive = files_of(session) + ":archive?with_itself=true&path=" + protocol::percent_encode(there.path);
  // An agent that does not know the parameter ignores it then.
  protocol::Headers lenient{{"Prefer", "handling=lenient"}};
  SKIFF_CO_TRY_VOID(co_await agent->open(std::move(archive), std::move(lenient)));
  BlockingPool pool{"skiff-files", 1};
  ToThread blocks{agent->executor(), kOnTheWay};
  TarTarget target{.path = std::move(to), .is_new = is_new, .is_file = !is_directory, .mode = {}};
  if (is_directory && is_new) target.mode = mode_of(there.entry);
  Result<TarSummary> unpacked = fail(Errc::cancelled, "nothing was unpacked");
  TaskGroup group{agent->executor()};
  Result<> received = fail(Errc::cancelled, "the transfer was given up");
  protocol::Headers trailers;
  auto receive = [&](this auto) -> Task<> {
    group.spawn("unpack", unpack_on_thread(&pool, blocks, std::move(target), &unpacked));
    received = co_await receive_blocks(agent, blocks, std::move(progress), total);
    if (received) trailers = agent->http().trailers();
  };
  co_await finally(std::move(receive), [&](this auto) -> Task<> {
    blocks.finish(received.has_value());
    co_await group.join();
    agent->http().close();
  });
  if (!received || !unpacked) co_return std::unexpected{incomplete(from, received, unpacked)};
  made.keep();
  note_left_out(trailers, *unpacked);
  co_return unpacked;
}

}  // namespace skiff::container
