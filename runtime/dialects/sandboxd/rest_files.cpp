#include "runtime/dialects/sandboxd/rest_files.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <stop_token>
#include <utility>

#include "base/async/beside.hpp"
#include "base/clock.hpp"
#include "fs/content/read.hpp"
#include "fs/content/write.hpp"
#include "fs/tree/change.hpp"
#include "fs/tree/list.hpp"
#include "protocol/http/date.hpp"
#include "protocol/http/multipart/body.hpp"
#include "protocol/json/text.hpp"
#include "runtime/api/files/archive.hpp"
#include "runtime/api/files/transfer.hpp"
#include "runtime/api/long_work.hpp"
#include "runtime/dialects/sandboxd/rest.hpp"
#include "runtime/dialects/sandboxd/sandbox_path.hpp"

namespace skiff::runtime::dialects::sandboxd {
namespace {

using protocol::append_json_text;

/// The number of entries that are listed, and sent, at once.
constexpr std::size_t kEntriesAtOnce = 1000;

/// The sandbox and the path of a request.
struct Location {
  Sandbox sandbox;
  std::string below;  ///< relative to the root
};
Task<Result<Location>> find_location(Request* request, const std::string* path) {
  SKIFF_CO_TRY(auto sandbox, co_await open_sandbox(&request->agent.registry));
  request->session = sandbox.session->id();
  SKIFF_CO_TRY(auto below, sandbox_path(*path, sandbox.root));
  co_return Location{.sandbox = std::move(sandbox), .below = std::move(below)};
}

Task<Result<>> no_content(Request* request) {
  co_return co_await request->http.respond({.status = 204});
}

// --- directories ---

/// A time as Go's time.RFC3339 prints it: "2026-01-02T03:04:05Z".
std::string whole_seconds(fs::FileTime time) {
  std::string text = rfc3339(std::chrono::floor<std::chrono::seconds>(time));
  return text.substr(0, text.rfind('.')) + 'Z';
}

void append_file_entry(std::string& out, std::string_view name, const fs::Entry& entry) {
  std::array<char, 8> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), entry.mode & 0777U, 8).ptr;
  const std::string mode{digits.data(), end};
  out += '{';
  append_json_text(out, "name", name);
  protocol::append_json_number(out, "size", entry.size);
  append_json_text(out, "type", entry.type == fs::EntryType::directory ? "directory" : "file");
  append_json_text(out, "modified_at", whole_seconds(entry.modified));
  append_json_text(out, "mode", std::string(4 - std::min<std::size_t>(mode.size(), 4), '0') + mode);
  out += '}';
}

/// A page of entries, separated by commas. A link is shown as its target. A link without a target within the root is
/// left out.
struct EntryPage {
  std::string text;
  std::string next_cursor;
  std::size_t left_out = 0;
};
Result<EntryPage> entry_page(const Location& location, const std::string& cursor) {
  fs::ListOptions options;
  options.limit = kEntriesAtOnce;
  options.cursor = cursor;
  options.tags = false;
  SKIFF_TRY(auto page, fs::list(*location.sandbox.tree, location.below, options));
  EntryPage result{.text = {}, .next_cursor = std::move(page.next_cursor)};
  for (fs::Listed& one : page.entries) {
    if (one.entry.type == fs::EntryType::link) {
      auto seen = fs::look_at(*location.sandbox.tree, location.below + '/' + one.path, fs::Links::follow);
      if (!seen) {
        ++result.left_out;
        continue;
      }
      one.entry = std::move(seen->entry);
    }
    if (!result.text.empty()) result.text += ',';
    append_file_entry(result.text, one.path, one.entry);
  }
  return result;
}

/// Sends a list page by page, so that a directory may have any number of entries.
Task<Result<>> send_listing(Request* request, const Location* location, std::string_view path, EntryPage page) {
  auto& http = request->http;
  std::string text{'{'};
  append_json_text(text, "path", path.starts_with('/') ? std::string{path} : '/' + std::string{path});
  protocol::append_json_key(text, "entries");
  text += '[' + page.text;
  std::size_t left_out = page.left_out;
  if (page.next_cursor.empty()) {
    if (left_out > 0) http.extra_headers().set(api::kLeftOut, std::to_string(left_out));
    co_return co_await http.respond(rest_json(200, text + "]}"));
  }
  auto head = rest_json(200, {});
  head.body.clear();
  head.headers.set("Trailer", api::kLeftOut);
  SKIFF_CO_TRY_VOID(co_await http.start(std::move(head)));
  bool has_any = !page.text.empty();
  while (!page.next_cursor.empty()) {
    auto work = [&] { return entry_page(*location, page.next_cursor); };
    auto next = co_await request->agent.pools.disk.run(std::move(work));
    // The body ends without its last chunk: the client sees that it was cut.
    if (!next) co_return std::unexpected{std::move(next.error())};
    page = std::move(*next);
    left_out += page.left_out;
    if (page.text.empty()) continue;  // all of them are links that lead nowhere
    if (std::exchange(has_any, true)) text += ',';
    text += page.text;
    SKIFF_CO_TRY_VOID(co_await http.write(text));
    text.clear();
  }
  text += "]}\n";
  SKIFF_CO_TRY_VOID(co_await http.write(text));
  co_return co_await http.finish({{api::kLeftOut, std::to_string(left_out)}});
}

// --- reading ---

/// The opened file, or the first page of a directory.
struct OpenedLocation {
  std::optional<api::FileToSend> file;
  EntryPage listing = {};
  bool is_known = false;  ///< the file's tag is one of those that the client has
};
Result<OpenedLocation> open_location(const Location& location, const std::optional<fs::TagList>& known,
                                     bool with_bytes) {
  auto opened = fs::open_to_read(*location.sandbox.tree, location.below);
  if (opened) {
    api::FileToSend file{.file = std::move(*opened)};
    file.tag = fs::entity_tag(file.file.fd.get(), file.file.entry, api::kQuicklyHashed);
    if (known) {
      SKIFF_TRY(const auto same, known->match_weakly(file.file.fd.get(), file.file.entry));
      if (same) return OpenedLocation{.file = std::move(file), .is_known = true};
    }
    if (with_bytes) file.read_if_small();
    return OpenedLocation{.file = std::move(file)};
  }
  if (opened.error().code != Errc::is_a_directory) return std::unexpected{std::move(opened.error())};
  SKIFF_TRY(auto listing, entry_page(location, {}));
  return OpenedLocation{.file = std::nullopt, .listing = std::move(listing)};
}

/// The tags in If-None-Match, which the client has (RFC 9110, 13.1.2). Errors: invalid_field.
Result<std::optional<fs::TagList>> known_tags(const protocol::Headers& headers) {
  const auto given = headers.find("If-None-Match");
  if (!given) return std::nullopt;
  return fs::TagList::parse(*given);
}

/// Whether the entry is unchanged since If-Modified-Since (RFC 9110, 13.1.3). A value that is not a date counts as
/// absent. The date may be of the client's own clock, and later than the change.
bool is_unchanged(const protocol::Headers& headers, const fs::Entry& entry) {
  if (headers.contains("If-None-Match")) return false;
  const auto since = protocol::parse_http_date(headers.get("If-Modified-Since"));
  return since && std::chrono::floor<std::chrono::seconds>(entry.modified) <= *since;
}

/// The part of a file to send. An empty file is sent whole, whatever part the client asks for, as Go's ServeContent
/// does.
Result<api::AskedRange> part_of(protocol::HttpExchange& http, const api::FileToSend& file) {
  if (file.file.entry.size == 0) return api::AskedRange{};
  return api::asked_range(http, file);
}

// --- writing ---

Result<mode_t> mode_of(const Request& request) {
  const std::string_view text = request.http.request().target.parameter("mode").value_or("");
  if (text.empty()) return 0644;
  mode_t mode = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  const bool is_mode = text.size() == 4 && text.front() == '0' && parsed.ec == std::errc{} &&
                       parsed.ptr == text.data() + text.size() && mode <= 0777;
  if (is_mode) return mode;
  return fail(Errc::invalid_field, "mode \"" + std::string{text} + "\" must match ^0[0-7]{3}$", "mode");
}

/// Begins to write a file. It fails before the bytes come if the path cannot hold a file.
Result<fs::Writer> begin_file(const Location& location, mode_t mode) {
  const auto seen = fs::look_at(*location.sandbox.tree, location.below, fs::Links::follow);
  if (seen && seen->entry.type == fs::EntryType::directory) {
    return fail(Errc::is_a_directory, "target path is a directory");
  }
  fs::WriteOptions options;
  options.attributes.mode = mode;
  options.durability = fs::Durability::synced;
  return fs::Writer::begin(*location.sandbox.tree, location.below, std::move(options));
}

/// Stores the part `file` of a multipart body.
Task<Result<>> store_part(Request* request, std::string boundary, fs::Writer* writer) {
  protocol::MultipartBody body{request->http, boundary};
  for (;;) {
    SKIFF_CO_TRY(auto more, co_await body.next_part());
    if (!more) co_return fail(Errc::invalid_request, "multipart body is missing the required \"file\" part");
    if (body.head().name == "file") break;
  }
  api::ByteSource source = [&body](std::span<char> into) { return body.read_some(into); };
  co_return co_await api::store_bytes(&request->agent.pools.disk, std::move(source), writer);
}

// --- removing ---

/// Whether the query asks to remove what a directory contains. Errors: invalid_field.
Result<bool> is_recursive(const Request& request) {
  const std::string_view text = request.http.request().target.parameter("recursive").value_or("");
  if (text == "true" || text == "1") return true;
  if (text.empty() || text == "false" || text == "0") return false;
  return fail(Errc::invalid_field, "recursive \"" + std::string{text} + "\" must be a boolean", "recursive");
}

std::unexpected<Error> not_empty() {
  return fail(Errc::directory_not_empty, "directory is not empty; pass recursive=true to remove it");
}

/// Removes what is in the root. The root itself stays, because it may be a volume.
Result<> empty_root(const Location& location, const std::stop_token& stop) {
  fs::ListOptions options;
  options.tags = false;
  options.stop = stop;
  do {
    SKIFF_TRY(auto page, fs::list(*location.sandbox.tree, location.below, options));
    for (const fs::Listed& one : page.entries) {
      auto removed = fs::remove(*location.sandbox.tree, one.path, fs::Contents::remove, {}, stop);
      // Somebody else may have removed it meanwhile.
      if (!removed && removed.error().code != Errc::path_not_found) return removed;
    }
    options.cursor = std::move(page.next_cursor);
  } while (!options.cursor.empty());
  return {};
}

Result<> remove_location(const Location& location, bool recursive, const std::stop_token& stop) {
  if (location.below == ".") {
    if (recursive) return empty_root(location, stop);
    return fail(Errc::directory_not_empty, "the sandbox root stays; pass recursive=true to remove what is in it");
  }
  const auto contents = recursive ? fs::Contents::remove : fs::Contents::refuse;
  auto removed = fs::remove(*location.sandbox.tree, location.below, contents, {}, stop);
  if (!removed && removed.error().code == Errc::directory_not_empty) return not_empty();
  return removed;
}

}  // namespace

Task<Result<>> get_file(Request* request, std::string path) {
  SKIFF_CO_TRY(auto location, co_await find_location(request, &path));
  auto& http = request->http;
  const bool with_bytes = http.request().method != "HEAD";
  SKIFF_CO_TRY(const auto known, known_tags(http.request().headers));
  auto work = [&] { return open_location(location, known, with_bytes); };
  SKIFF_CO_TRY(auto opened, co_await request->agent.pools.disk.run(std::move(work)));
  if (!opened.file) co_return co_await send_listing(request, &location, path, std::move(opened.listing));
  if (opened.is_known || is_unchanged(http.request().headers, opened.file->file.entry)) {
    protocol::HttpResponse response{304, {{"Last-Modified", protocol::http_date(opened.file->file.entry.modified)}}};
    if (opened.file->tag) response.headers.set("ETag", *opened.file->tag);
    co_return co_await http.respond(std::move(response));
  }
  SKIFF_CO_TRY(const auto range, part_of(http, *opened.file));
  co_return co_await api::send_part(&request->agent.pools.disk, &http, std::move(*opened.file), range);
}

Task<Result<>> put_file(Request* request, std::string path) {
  auto& http = request->http;
  SKIFF_CO_TRY(const auto mode, mode_of(*request));
  SKIFF_CO_TRY(auto location, co_await find_location(request, &path));
  if (http.request().headers.contains("Content-Range")) {
    // RFC 9110, 14.4: a part must not be taken for the whole.
    co_return fail(Errc::invalid_request, "a PUT writes the whole file");
  }
  SKIFF_CO_TRY(auto boundary, protocol::multipart_boundary(http.request().headers.get("Content-Type")));
  BlockingPool* const disk = &request->agent.pools.disk;
  auto begin = [&] { return begin_file(location, mode); };
  SKIFF_CO_TRY(auto writer, co_await disk->run(std::move(begin)));
  Result<> stored;
  if (boundary) {
    stored = co_await store_part(request, std::move(*boundary), &writer);
  } else {
    stored = co_await api::store_bytes(disk, api::body_of(&http), &writer);
  }
  if (!stored) co_return stored;
  auto commit = [&] { return writer.commit(); };
  SKIFF_CO_TRY_VOID(co_await disk->run(std::move(commit)));
  co_return co_await no_content(request);
}

Task<Result<>> delete_file(Request* request, std::string path) {
  SKIFF_CO_TRY(auto location, co_await find_location(request, &path));
  auto look = [&] { return fs::look_at(*location.sandbox.tree, location.below); };
  SKIFF_CO_TRY_VOID(co_await request->agent.pools.disk.run(std::move(look)));
  SKIFF_CO_TRY(const auto recursive, is_recursive(*request));
  std::stop_source stop;
  auto job = [&]() -> Result<> {
    if (stop.stop_requested()) return fs::stopped_error();
    return remove_location(location, recursive, stop.get_token());
  };
  auto working = request->agent.pools.long_work.run(std::move(job));
  auto removed = co_await run_beside(api::stop_without_client(&request->http, &stop), std::move(working));
  if (!removed) co_return removed;
  co_return co_await no_content(request);
}

}  // namespace skiff::runtime::dialects::sandboxd
