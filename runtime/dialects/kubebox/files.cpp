#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include <re2/re2.h>

#include "fs/content/read.hpp"
#include "fs/content/write.hpp"
#include "fs/tree/change.hpp"
#include "fs/tree/list.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"
#include "runtime/dialects/kubebox/answers.hpp"
#include "runtime/dialects/kubebox/handlers.hpp"

namespace skiff::runtime::dialects::kubebox {
namespace {

using protocol::field;
using protocol::Text;

/// A file's text comes inside JSON, all of it in memory.
constexpr std::size_t kLongestWrite = std::size_t{10} << 20U;
constexpr std::size_t kReadBlock = std::size_t{256} << 10U;
constexpr std::size_t kPathsAtOnce = 5000;
constexpr std::size_t kMostPatterns = 64;

struct WriteBody {
  std::string session_id;
  std::string file_path;
  std::string content;
  bool make_dirs = false;
  static constexpr auto fields = std::tuple{
      field("session_id", &WriteBody::session_id, "Of /initialize"),
      field("file_path", &WriteBody::file_path, "Of the file", {.text = Text::no_nul}),
      field("content", &WriteBody::content, "All of it"),
      field("make_dirs", &WriteBody::make_dirs, "Its parents too", {.optional = true}),
  };
};

struct PathBody {
  std::string session_id;
  std::string file_path;
  static constexpr auto fields = std::tuple{
      field("session_id", &PathBody::session_id, "Of /initialize"),
      field("file_path", &PathBody::file_path, "Of the file", {.text = Text::no_nul}),
  };
};

struct Target {
  std::shared_ptr<const fs::Tree> tree;
  std::string path;
};

Task<Result<Target>> target_of(Request* request, std::string session_id, std::string path) {
  auto session = session_of(*request, session_id);
  if (!session) co_return std::unexpected{std::move(session.error())};
  auto tree = co_await (*session)->tree();
  if (!tree) co_return std::unexpected{std::move(tree.error())};
  co_return Target{std::move(*tree), std::move(path)};
}

/// Of a GET.
Task<Result<Target>> target_of(Request* request) {
  auto session = query(*request, "session_id");
  if (!session) co_return std::unexpected{std::move(session.error())};
  auto path = query(*request, "file_path");
  if (!path) co_return std::unexpected{std::move(path.error())};
  co_return co_await target_of(request, std::move(*session), std::move(*path));
}

Task<Result<fs::OpenFile>> open_file(Request* request) {
  auto target = co_await target_of(request);
  if (!target) co_return std::unexpected{std::move(target.error())};
  auto work = [&] { return fs::open_to_read(*target->tree, target->path); };
  auto opened = co_await request->agent.disk.run(std::move(work));
  // One sentence for what is not there and what is no file, as the original has it.
  const auto missing = [](Errc code) { return code == Errc::path_not_found || code == Errc::is_a_directory; };
  if (!opened && missing(opened.error().code)) co_return fail(Errc::path_not_found, "File not found", "file_path");
  co_return opened;
}

template <class Change>
Task<Result<>> change_path(Request* request, Change change) {
  auto body = co_await read_json<PathBody>(request);
  if (!body) co_return std::unexpected{std::move(body.error())};
  auto target = co_await target_of(request, body->session_id, body->file_path);
  if (!target) co_return std::unexpected{std::move(target.error())};
  auto work = [&]() -> Result<> { return change(*target->tree, target->path); };
  if (auto changed = co_await request->agent.disk.run(std::move(work)); !changed) co_return changed;
  co_return co_await answer_success(request);
}

Result<std::vector<std::shared_ptr<const RE2>>> patterns_of(const Request& request) {
  std::vector<std::shared_ptr<const RE2>> patterns;
  RE2::Options options;
  options.set_log_errors(false);
  for (const auto& parameter : request.http.request().target.query) {
    if (parameter.name != "regexes") continue;
    if (patterns.size() == kMostPatterns) {
      return fail(Errc::invalid_field, "at most " + std::to_string(kMostPatterns) + " regexes at once", "regexes");
    }
    patterns.push_back(std::make_shared<const RE2>(parameter.value, options));
    if (!patterns.back()->ok()) {
      return fail(Errc::invalid_field, "not a regular expression of RE2: " + patterns.back()->error(), "regexes");
    }
  }
  return patterns;
}

}  // namespace

Task<Result<>> read_file(Request* request, WaitingStreams* /*waiting*/) {
  auto opened = co_await open_file(request);
  if (!opened) co_return std::unexpected{std::move(opened.error())};
  protocol::HttpResponse head{200, {{"Content-Type", "application/json"}}};
  auto begun = co_await request->http.start(std::move(head), {}, protocol::HttpExchange::Send::with_first_write);
  if (!begun) co_return begun;
  protocol::Utf8Splitter splitter;
  std::string bytes(kReadBlock, '\0');
  std::string text{R"({"content":")"};
  const auto add = [&text](std::string_view part) {
    protocol::append_json_escaped(text, protocol::is_valid_utf8(part) ? part : protocol::to_valid_utf8(part));
  };
  for (std::uint64_t offset = 0;;) {
    auto read = [&] { return fs::read_at(opened->fd.get(), offset, bytes); };
    auto got = co_await request->agent.disk.run(std::move(read));
    if (!got) co_return std::unexpected{std::move(got.error())};
    if (*got == 0) break;
    offset += *got;
    const auto pieces = splitter.push(std::string_view{bytes}.substr(0, *got));
    add(pieces.head);
    add(pieces.body);
    if (auto sent = co_await request->http.write(text); !sent) co_return sent;
    text.clear();
  }
  add(splitter.flush());
  text += R"("})";
  if (auto sent = co_await request->http.write(text); !sent) co_return sent;
  co_return co_await request->http.finish();
}

Task<Result<>> get_file(Request* request, WaitingStreams* /*waiting*/) {
  auto opened = co_await open_file(request);
  if (!opened) co_return std::unexpected{std::move(opened.error())};
  const std::uint64_t size = opened->entry.size;
  protocol::HttpResponse head{200,
                              {{"Content-Type", "application/octet-stream"}, {"X-Content-Type-Options", "nosniff"}}};
  auto sent = co_await request->http.start(std::move(head), size, protocol::HttpExchange::Send::with_first_write);
  if (sent && size > 0) {
    sent = co_await request->http.send_file(request->agent.disk, opened->fd.get(), 0, size);
  }
  if (!sent) co_return sent;
  co_return co_await request->http.finish();
}

Task<Result<>> write_file(Request* request, WaitingStreams* /*waiting*/) {
  auto text = co_await request->http.read_body(kLongestWrite);
  if (!text) co_return std::unexpected{std::move(text.error())};
  // Megabytes are not parsed on the reactor.
  auto parse = [&] {
    std::vector<std::string> ignored;
    return protocol::decode<WriteBody>(*text, {.max_bytes = kLongestWrite}, &ignored);
  };
  auto body = co_await request->agent.disk.run(std::move(parse));
  if (!body) co_return std::unexpected{std::move(body.error())};
  auto target = co_await target_of(request, body->session_id, body->file_path);
  if (!target) co_return std::unexpected{std::move(target.error())};
  fs::WriteOptions options;
  options.parents = body->make_dirs ? fs::Parents::make : fs::Parents::require;
  auto work = [&] { return fs::write_file(*target->tree, target->path, body->content, std::move(options)); };
  if (auto written = co_await request->agent.disk.run(std::move(work)); !written) {
    co_return std::unexpected{std::move(written.error())};
  }
  co_return co_await answer_success(request);
}

Task<Result<>> make_dirs(Request* request, WaitingStreams* /*waiting*/) {
  return change_path(request, [](const fs::Tree& tree, const std::string& path) -> Result<> {
    auto made = fs::make_folder(tree, path, fs::Parents::make);
    if (!made) return std::unexpected{std::move(made.error())};
    return {};
  });
}

Task<Result<>> delete_file(Request* request, WaitingStreams* /*waiting*/) {
  return change_path(request, [](const fs::Tree& tree, const std::string& path) -> Result<> {
    auto seen = fs::look_at(tree, path);
    if (!seen) return std::unexpected{std::move(seen.error())};
    if (seen->entry.type == fs::EntryType::folder) {
      return fail(Errc::is_a_directory, fs::quoted(path) + " is a directory: only files are deleted", "file_path");
    }
    return fs::remove(tree, path);
  });
}

Task<Result<>> file_exists(Request* request, WaitingStreams* /*waiting*/) {
  auto target = co_await target_of(request);
  if (!target) co_return std::unexpected{std::move(target.error())};
  auto work = [&] { return fs::look_at(*target->tree, target->path, fs::Links::follow); };
  auto seen = co_await request->agent.disk.run(std::move(work));
  if (!seen && seen.error().code != Errc::path_not_found) co_return std::unexpected{std::move(seen.error())};
  co_return co_await answer(request, seen ? R"({"exists":true})" : R"({"exists":false})");
}

Task<Result<>> get_all_file_paths(Request* request, WaitingStreams* /*waiting*/) {
  auto session = query(*request, "session_id");
  if (!session) co_return std::unexpected{std::move(session.error())};
  auto target = co_await target_of(request, std::move(*session), {});
  if (!target) co_return std::unexpected{std::move(target.error())};
  auto patterns = patterns_of(*request);
  if (!patterns) co_return std::unexpected{std::move(patterns.error())};
  fs::ListOptions options;
  options.depth = fs::Depth::all;
  options.limit = kPathsAtOnce;
  options.tags = false;
  if (!patterns->empty()) {
    options.wanted = [&patterns](std::string_view path) {
      return std::ranges::any_of(*patterns, [path](const auto& one) { return RE2::PartialMatch(path, *one); });
    };
  }
  std::string text{'['};
  bool begun = false;
  bool any = false;
  for (;;) {
    auto work = [&] { return fs::list(*target->tree, target->path, options); };
    auto page = co_await request->agent.long_work.run(std::move(work));
    if (!page) co_return std::unexpected{std::move(page.error())};
    for (const fs::Listed& one : page->entries) {
      if (one.entry.type == fs::EntryType::folder) continue;
      if (std::exchange(any, true)) text += ',';
      protocol::append_json_string(text, protocol::to_valid_utf8(one.path));
    }
    const bool last = page->next_cursor.empty();
    if (last) text += ']';
    if (last && !begun) co_return co_await answer(request, std::move(text));
    if (!std::exchange(begun, true)) {
      protocol::HttpResponse head{200, {{"Content-Type", "application/json"}}};
      auto sent = co_await request->http.start(std::move(head), {}, protocol::HttpExchange::Send::with_first_write);
      if (!sent) co_return sent;
    }
    if (auto sent = co_await request->http.write(text); !sent) co_return sent;
    if (last) co_return co_await request->http.finish();
    text.clear();
    options.cursor = std::move(page->next_cursor);
  }
}

}  // namespace skiff::runtime::dialects::kubebox
