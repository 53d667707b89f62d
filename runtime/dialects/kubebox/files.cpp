#include <algorithm>
#include <functional>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "fs/content/read.hpp"
#include "fs/content/write.hpp"
#include "fs/tree/change.hpp"
#include "fs/tree/list.hpp"
#include "protocol/json/chunks.hpp"
#include "protocol/json/text.hpp"
#include "runtime/api/files/archive.hpp"
#include "runtime/api/files/entries.hpp"
#include "runtime/api/files/transfer.hpp"
#include "runtime/dialects/kubebox/answers.hpp"
#include "runtime/dialects/kubebox/handlers.hpp"

namespace skiff::runtime::dialects::kubebox {
namespace {

using protocol::field;
using protocol::Text;

/// The most bytes of the body of a write: JSON that is held in memory as a whole.
constexpr std::size_t kLongestWrite = std::size_t{10} << 20U;
constexpr std::size_t kReadBlock = std::size_t{256} << 10U;
constexpr std::size_t kPathsAtOnce = 5000;
constexpr std::size_t kMostPatterns = 16;

struct WriteBody {
  std::string session_id;
  std::string file_path;
  std::string content;
  bool make_dirs = false;
  static constexpr auto fields = std::tuple{
      field("session_id", &WriteBody::session_id, "The session_id of /initialize"),
      field("file_path", &WriteBody::file_path, "The path of the file", {.text = Text::no_nul}),
      field("content", &WriteBody::content, "The whole content"),
      field("make_dirs", &WriteBody::make_dirs, "Create missing parents, too", {.optional = true}),
  };
};

struct PathBody {
  std::string session_id;
  std::string file_path;
  static constexpr auto fields = std::tuple{
      field("session_id", &PathBody::session_id, "The session_id of /initialize"),
      field("file_path", &PathBody::file_path, "The path of the file", {.text = Text::no_nul}),
  };
};

/// Runs `change(tree)` in the session's tree.
template <class Change>
Task<Result<>> change_in(Request* request, std::shared_ptr<sessions::Session> session, Change change) {
  SKIFF_CO_TRY(auto tree, co_await session->tree());
  auto work = [&]() -> Result<> {
    SKIFF_TRY_VOID(change(*tree));
    return {};
  };
  SKIFF_CO_TRY_VOID(co_await request->agent.pools.disk.run(std::move(work)));
  co_return co_await answer(request, R"({"status":"success"})");
}

/// The value of a query parameter. If there are several, the last one counts, as with FastAPI.
Result<std::string> query(const Request& request, const std::string& name) {
  for (const auto& parameter : request.http.request().target.query | std::views::reverse) {
    if (parameter.name == name) return parameter.value;
  }
  return fail(Errc::missing_field, "the query parameter " + name + " is missing", name);
}

/// The tree of the session that the query names.
Task<Result<std::shared_ptr<const fs::Tree>>> queried_tree(Request* request) {
  SKIFF_CO_TRY(const auto id, query(*request, "session_id"));
  SKIFF_CO_TRY(const auto session, session_of(request, id));
  co_return co_await session->tree();
}

/// Runs `look(tree, path)` on the file that the query names.
template <class Look>
Task<std::invoke_result_t<Look, const fs::Tree&, const std::string&>> look_at_queried(Request* request, Look look) {
  SKIFF_CO_TRY(const auto tree, co_await queried_tree(request));
  SKIFF_CO_TRY(const auto path, query(*request, "file_path"));
  auto work = [&] { return look(*tree, path); };
  auto seen = co_await request->agent.pools.disk.run(std::move(work));
  co_return seen;
}

Result<fs::OpenFile> open_file(const fs::Tree& tree, const std::string& path) {
  auto opened = fs::open_to_read(tree, path);
  // A path where nothing is, and one that cannot be read as a file, get the same message, as in the original.
  if (!opened && is_absence(opened.error().code)) return fail(Errc::path_not_found, "File not found", "file_path");
  return opened;
}

/// Whether an entry is a directory for os.walk, which counts a link to a directory among the directories and does not
/// follow it.
bool counts_as_directory(const fs::Tree& tree, const fs::Listed& one) {
  if (one.entry.type != fs::EntryType::link) return one.entry.type == fs::EntryType::directory;
  const auto behind = fs::look_at(tree, one.path, fs::Links::follow);
  return behind && behind->entry.type == fs::EntryType::directory;
}

/// Begins a JSON answer of any length.
Task<Result<>> begin_json(Request* request) {
  return request->http.start({200, {{"Content-Type", "application/json"}}}, {},
                             protocol::HttpExchange::Send::with_first_write);
}

/// A filter for the paths of a list: any of `regexes` must match. Empty: there are none, and every path is listed.
/// Errors: invalid_field.
Result<std::function<bool(std::string_view)>> wanted_paths(const Request& request) {
  std::vector<std::function<bool(std::string_view)>> patterns;
  for (const auto& parameter : request.http.request().target.query) {
    if (parameter.name != "regexes") continue;
    if (patterns.size() == kMostPatterns) {
      return fail(Errc::invalid_field, "at most " + std::to_string(kMostPatterns) + " regexes at once", "regexes");
    }
    SKIFF_TRY(auto wanted, api::wanted_by("re:" + parameter.value));
    patterns.push_back(std::move(wanted));
  }
  if (patterns.empty()) return nullptr;
  return [patterns](std::string_view path) {
    return std::ranges::any_of(patterns, [path](const auto& wants) { return wants(path); });
  };
}

}  // namespace

Task<Result<>> read_file(Request* request) {
  SKIFF_CO_TRY(const auto opened, co_await look_at_queried(request, open_file));
  SKIFF_CO_TRY_VOID(co_await begin_json(request));
  protocol::JsonChunks chunks;
  std::string bytes(kReadBlock, '\0');
  std::string text{R"({"content":")"};
  std::uint64_t offset = 0;
  for (bool at_end = false; !at_end;) {
    auto work = [&]() -> Result<std::size_t> {
      auto got = fs::read_at(opened.fd.get(), offset, bytes);
      if (got) chunks.append(text, std::string_view{bytes}.substr(0, *got));
      return got;
    };
    SKIFF_CO_TRY(const auto got, co_await request->agent.pools.disk.run(std::move(work)));
    offset += got;
    at_end = got == 0;
    if (at_end) {
      chunks.finish(text);
      text += R"("})";
    }
    SKIFF_CO_TRY_VOID(co_await request->http.write(text));
    text.clear();
  }
  co_return co_await request->http.finish();
}

Task<Result<>> get_file(Request* request) {
  SKIFF_CO_TRY(auto opened, co_await look_at_queried(request, open_file));
  api::FileToSend file{.file = std::move(opened)};
  SKIFF_CO_TRY(const auto range, api::asked_range(request->http, file));
  co_return co_await api::send_part(&request->agent.pools.disk, &request->http, std::move(file), range);
}

Task<Result<>> write_file(Request* request) {
  SKIFF_CO_TRY(const auto asked, co_await read_asked<WriteBody>(request, kLongestWrite));
  const WriteBody& body = asked.body;
  co_return co_await change_in(request, asked.session, [&body](const fs::Tree& tree) {
    fs::WriteOptions options;
    options.parents = body.make_dirs ? fs::Parents::make : fs::Parents::require;
    return fs::write_file(tree, body.file_path, body.content, std::move(options));
  });
}

Task<Result<>> create_dirs(Request* request) {
  SKIFF_CO_TRY(const auto asked, co_await read_asked<PathBody>(request));
  co_return co_await change_in(request, asked.session, [&path = asked.body.file_path](const fs::Tree& tree) {
    return fs::create_directory(tree, path, fs::Parents::make);
  });
}

Task<Result<>> delete_file(Request* request) {
  SKIFF_CO_TRY(const auto asked, co_await read_asked<PathBody>(request));
  co_return co_await change_in(
      request, asked.session, [&path = asked.body.file_path](const fs::Tree& tree) -> Result<> {
        SKIFF_TRY(const auto seen, fs::look_at(tree, path));
        if (seen.entry.type != fs::EntryType::directory) return fs::remove(tree, path);
        return fail(Errc::is_a_directory, fs::in_quotes(path) + " is a directory: only files are deleted", "file_path");
      });
}

Task<Result<>> file_exists(Request* request) {
  const auto seen = co_await look_at_queried(request, [](const fs::Tree& tree, const std::string& path) {
    return fs::look_at(tree, path, fs::Links::follow);
  });
  // A path that may not be looked at counts as absent, as with os.path.exists.
  if (!seen && !is_absence(seen.error().code) && seen.error().code != Errc::permission_denied)
    co_return std::unexpected{seen.error()};
  co_return co_await answer(request, seen ? R"({"exists":true})" : R"({"exists":false})");
}

Task<Result<>> get_all_file_paths(Request* request) {
  SKIFF_CO_TRY(const auto tree, co_await queried_tree(request));
  SKIFF_CO_TRY(auto wanted, wanted_paths(*request));
  fs::ListOptions options{.depth = fs::Depth::all, .limit = kPathsAtOnce, .wanted = std::move(wanted), .tags = false};
  std::string text{'['};
  std::size_t left_out = 0;
  for (bool any = false;;) {
    auto work = [&] {
      auto listed = fs::list(*tree, {}, options);
      if (listed) std::erase_if(listed->entries, [&](const auto& one) { return counts_as_directory(*tree, one); });
      return listed;
    };
    auto page = co_await request->agent.pools.long_work.run(std::move(work));
    // If the response has begun, its body ends without its last chunk: the client sees that it was cut.
    if (!page) co_return std::unexpected{std::move(page.error())};
    if (options.cursor.empty()) {
      request->http.extra_headers().set("Trailer", api::kLeftOut);
      SKIFF_CO_TRY_VOID(co_await begin_json(request));
    }
    left_out += page->unreadable + (page->too_deep ? 1 : 0);
    for (const fs::Listed& one : page->entries) {
      if (std::exchange(any, true)) text += ',';
      protocol::append_json_string(text, protocol::to_valid_utf8(one.path));
    }
    // HTTP/1.0 has no trailers. If paths were left out, the body ends there without its last bracket.
    const bool is_last = page->next_cursor.empty();
    if (is_last && (left_out == 0 || request->http.request().version >= 11)) text += ']';
    SKIFF_CO_TRY_VOID(co_await request->http.write(text));
    if (is_last) co_return co_await request->http.finish({{api::kLeftOut, std::to_string(left_out)}});
    text.clear();
    options.cursor = std::move(page->next_cursor);
  }
}

}  // namespace skiff::runtime::dialects::kubebox
