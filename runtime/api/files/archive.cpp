#include "runtime/api/files/archive.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <utility>

#include "base/async/beside.hpp"
#include "base/async/channel.hpp"
#include "base/clock.hpp"
#include "base/log/log.hpp"
#include "fs/archive/archive.hpp"
#include "fs/path/descend.hpp"
#include "fs/tree/directory_to_fill.hpp"
#include "protocol/http/target.hpp"
#include "runtime/api/files/call.hpp"
#include "runtime/api/files/pool_stream.hpp"

namespace skiff::runtime::api {
namespace {

constexpr std::size_t kBlock = std::size_t{64} << 10U;
constexpr std::size_t kArchiveOnTheWay = std::size_t{1} << 20U;

constexpr std::string_view kLeftOutNames = "X-Skiff-Left-Out-Names";
constexpr std::string_view kSpecialFiles = "X-Skiff-Special-Files";
constexpr std::size_t kMostOfNames = std::size_t{2} << 10U;

struct Format {
  fs::Compression compression = fs::Compression::none;
  std::string_view content_type = "application/x-tar";
};

Result<Format> format_of(const Call& call) {
  const std::string_view text = call.query("format").value_or("tar");
  if (text == "tar") return Format{};
  if (text == "tar.gz") return Format{fs::Compression::gzip, "application/gzip"};
  if (text == "tar.zst") return Format{fs::Compression::zstd, "application/zstd"};
  return fail(Errc::invalid_field, "the formats are tar, tar.gz and tar.zst", "format");
}

std::string_view word(fs::ArchiveSummary::Why why) {
  using Why = fs::ArchiveSummary::Why;
  if (why == Why::unreadable) return "unreadable";
  return why == Why::vanished ? "vanished" : "changed";
}

/// Encodes a path for a header field, except plain bytes and slashes.
std::string in_field(std::string_view path) {
  std::string text;
  for (;;) {
    const std::size_t slash = path.find('/');
    text += protocol::percent_encode(path.substr(0, slash));
    if (slash == std::string_view::npos) return text;
    text += '/';
    path.remove_prefix(slash + 1);
  }
}

protocol::Headers told_of(const fs::ArchiveSummary& summary) {
  protocol::Headers fields;
  fields.add(kLeftOut, std::to_string(summary.left_out));
  std::string names;
  for (const auto& [why, path] : summary.first) {
    std::string one = names.empty() ? "" : ", ";
    one.append(word(why)).append(" ").append(in_field(path));
    if (names.size() + one.size() > kMostOfNames) continue;
    names += one;
  }
  if (!names.empty()) fields.add(kLeftOutNames, std::move(names));
  if (summary.special > 0) fields.add(kSpecialFiles, std::to_string(summary.special));
  return fields;
}

bool goes_up(std::string_view path) {
  const auto split = fs::split_path(path);
  return split && std::ranges::count(split->names, std::string_view{".."}) > 0;
}

struct Unpacking {
  explicit Unpacking(Agent& agent) : endpoint{agent.executor, kArchiveOnTheWay, &agent.pools.search} {}
  ToThread endpoint;
  std::stop_source stop;
  std::optional<Result<fs::ExtractSummary>> outcome;
};

Task<> unpack(BlockingPool* pool, Unpacking* work, std::shared_ptr<const fs::Tree> tree, std::string path,
              fs::ExtractOptions options) {
  auto job = [&] {
    const auto extract = [&]() -> Result<fs::ExtractSummary> {
      SKIFF_TRY_VOID(admit_transfer(*pool, 0));
      SKIFF_TRY(auto directory, fs::DirectoryToFill::open(*tree, path));
      const fs::ByteSource source = [work](std::span<char> into) -> Result<std::size_t> {
        const auto got = work->endpoint.read(into);
        if (!got) return fail(Errc::cancelled, "the archive was cut short");
        return *got;
      };
      auto summary = fs::extract_archive(directory.fd(), source, options, work->stop.get_token());
      if (summary) directory.keep();
      return summary;
    };
    try {
      work->outcome = extract();
    } catch (const std::bad_alloc&) {
      work->outcome = fail(Errc::resource_exhausted, "there is not enough memory for this");
    }
    work->endpoint.leave();
    return true;
  };
  (void)co_await pool->run(std::move(job));
}

/// Releases the thread, however the receiving ends: it must not wait for more bytes.
class Ending {
 public:
  explicit Ending(Unpacking& work) : work_{work} {}
  ~Ending() {
    if (!whole) work_.stop.request_stop();
    work_.endpoint.finish(whole);
  }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  bool whole = false;

 private:
  Unpacking& work_;
};

/// Checks the rate of a body, each time that the waits for it add up to the longest pause.
class BodyPace {
 public:
  explicit BodyPace(std::chrono::milliseconds longest_pause) : longest_pause_{longest_pause} {}

  /// Adds the wait and the bytes of a read. Errors: request_timeout.
  Result<> add(SteadyTime::duration waited, std::size_t bytes) {
    waited_ += waited;
    bytes_ += bytes;
    if (waited_ < longest_pause_) return {};
    const auto least =
        static_cast<std::uint64_t>(std::chrono::floor<std::chrono::milliseconds>(waited_).count()) * kLeastRate / 1000;
    if (bytes_ < least) return fail(Errc::request_timeout, "the archive comes too slowly");
    waited_ = {};
    bytes_ = 0;
    return {};
  }

 private:
  std::chrono::milliseconds longest_pause_;
  SteadyTime::duration waited_{};
  std::uint64_t bytes_ = 0;
};

Task<Result<>> receive(Call* call, Unpacking* work) {
  Ending ending{*work};
  BodyPace pace{call->agent.settings.body_timeout};
  std::string buffer(kBlock, '\0');
  for (;;) {
    const SteadyTime began = std::chrono::steady_clock::now();
    SKIFF_CO_TRY(auto got, co_await call->http.read_body_some(buffer));
    if (got == 0) break;
    if (auto paced = pace.add(std::chrono::steady_clock::now() - began, got); !paced) {
      log::info("ended a transfer: its client sends too slowly", {{"peer", call->http.peer()}});
      co_return paced;
    }
    // A block has the size of what was read: the queue counts no unused memory.
    std::string block = buffer.substr(0, got);
    const bool wanted = co_await work->endpoint.push(std::move(block));
    if (!wanted) co_return Result<>{};  // the thread refused the archive; the outcome has the error
  }
  ending.whole = true;
  co_return Result<>{};
}

}  // namespace

const Answer<fs::ExtractSummary>& unpacked_answer() {
  using Summary = fs::ExtractSummary;
  static const Answer<Summary> answer{"ArchiveResult",
                                      {{"entries", [](const Summary& unpacked) { return unpacked.entries; }},
                                       {"bytes", [](const Summary& unpacked) { return unpacked.bytes; }}}};
  return answer;
}

Task<Result<>> read_archive(Call& call) {
  SKIFF_CO_TRY(auto file, co_await FileCall::of(call));
  SKIFF_CO_TRY(auto format, format_of(call));
  auto options = std::make_shared<fs::ArchiveOptions>();
  options->compression = format.compression;
  SKIFF_CO_TRY(const auto whole, call.query_flag("whole"));
  SKIFF_CO_TRY(options->with_itself, call.query_flag("with_itself"));
  // HTTP/1.0 has no trailers that could report missing files.
  options->whole_or_cut = whole || call.http.request().version < 11;
  for (const auto& parameter : call.target().query) {
    if (parameter.name == "path") options->paths.push_back(parameter.value);
  }
  auto summary = std::make_shared<fs::ArchiveSummary>();
  Producer producer = [tree = file.tree, options, summary](const fs::ByteSink& sink,
                                                           const std::stop_token& stop) -> Result<> {
    // A single directory becomes the archive's root; several paths keep their names. A single file with an absolute
    // path, or with "..", which no name in an archive may contain, gets its last name only.
    std::string root;
    if (options->paths.size() == 1) {
      std::string& only = options->paths.front();
      if (auto directory = tree->open_directory(only)) {
        root = std::exchange(options->paths, {}).front();
      } else if (only.starts_with('/') || goes_up(only)) {
        const fs::DirectoryAndName parts = fs::directory_and_name(only);
        root = parts.directory.empty() ? "/" : parts.directory;
        only = std::string{parts.name};
      }
    }
    SKIFF_TRY(auto directory, tree->open_directory(root));
    SKIFF_TRY(*summary, fs::write_archive(directory, *options, stop, sink));
    return {};
  };
  co_return co_await stream_from_pool(
      call, std::string{accepted_type(call, format.content_type, "application/octet-stream")}, std::move(producer),
      {.names = std::string{kLeftOut} + ", " + std::string{kLeftOutNames} + ", " + std::string{kSpecialFiles},
       .fields = [summary] { return told_of(*summary); }});
}

Task<Result<>> write_archive(Call& call) {
  SKIFF_CO_TRY(auto file, co_await FileCall::of(call));
  SKIFF_CO_TRY(auto most, call.query_number("most_bytes", std::numeric_limits<std::int64_t>::max()));
  fs::ExtractOptions options;
  if (most) options.most_bytes = *most;
  options.keep_set_id = require(call.identity, Scope::admin).has_value();
  SKIFF_CO_TRY(const auto transfer, begin_transfer(call.agent, call.http.who()));
  Unpacking work{call.agent};
  const std::string path{call.query("path").value_or("")};
  auto received =
      co_await run_beside(unpack(&call.agent.pools.search, &work, file.tree, path, options), receive(&call, &work));
  // Report the thread's error first: the client may have stopped sending because of it.
  if (work.outcome && !*work.outcome && work.outcome->error().code != Errc::cancelled) {
    co_return std::unexpected{std::move(work.outcome->error())};
  }
  if (!received) co_return std::unexpected{std::move(received.error())};
  if (!work.outcome || !*work.outcome) co_return fail(Errc::cancelled, "the archive was cut short");
  std::string text = unpacked_answer().text(**work.outcome);
  co_return co_await call.json(200, std::move(text));
}

}  // namespace skiff::runtime::api
