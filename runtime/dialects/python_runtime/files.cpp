#include "runtime/dialects/python_runtime/files.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "fs/content/read.hpp"
#include "fs/tree/list.hpp"
#include "protocol/http/target.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"
#include "runtime/api/files/transfer.hpp"
#include "runtime/api/long_work.hpp"
#include "runtime/dialects/python_runtime/answers.hpp"
#include "runtime/dialects/python_runtime/base_path.hpp"

namespace skiff::runtime::dialects::python_runtime {
namespace {

using protocol::append_json_key;
using protocol::append_json_text;

/// The number of entries that are listed, and sent, at once.
constexpr std::size_t kListedAtOnce = 1000;

Task<Result<>> answer_with(Request* request, protocol::HttpResponse response) {
  co_return co_await request->http.respond(std::move(response));
}

/// The Content-Disposition (RFC 6266) of Starlette's FileResponse for the path as the client gave it. A path that needs
/// it is encoded by RFC 8187.
std::string disposition_of(std::string_view path) {
  std::string encoded;
  for (;;) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    encoded += protocol::percent_encode(path.substr(0, slash));
    if (slash == path.size()) break;
    encoded += '/';
    path.remove_prefix(slash + 1);
  }
  if (!encoded.contains('%')) return "attachment; filename=\"" + encoded + '"';
  return "attachment; filename*=utf-8''" + encoded;
}

/// Appends seconds since 1970 as Python prints a float of them.
void append_seconds(std::string& out, fs::FileTime time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const double seconds =
      static_cast<double>(whole.time_since_epoch().count()) + 1e-9 * static_cast<double>((time - whole).count());
  std::array<char, 40> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), seconds, std::chars_format::fixed).ptr;
  const std::string_view text{digits.data(), end};
  out += text;
  if (!text.contains('.')) out += ".0";
}

void append_entry_of(std::string& out, std::string_view name, const fs::Entry& entry) {
  out += '{';
  append_json_text(out, "name", name);
  protocol::append_json_number(out, "size", entry.size);
  append_json_text(out, "type", entry.type == fs::EntryType::directory ? "directory" : "file");
  append_json_key(out, "mod_time");
  append_seconds(out, entry.modified);
  out += '}';
}

/// A page of entries, separated by commas. A link is shown as its target. A link without a target is shown as itself.
struct ListedPage {
  std::string text;
  std::string next_cursor;
};
Result<ListedPage> list_page(const fs::Tree& tree, const std::string& path, const std::string& cursor) {
  fs::ListOptions options;
  options.limit = kListedAtOnce;
  options.cursor = cursor;
  options.tags = false;
  SKIFF_TRY(auto page, fs::list(tree, path, options));
  ListedPage listed{.text = {}, .next_cursor = std::move(page.next_cursor)};
  listed.text.reserve(page.entries.size() * 96);
  for (fs::Listed& one : page.entries) {
    if (one.entry.type == fs::EntryType::link) {
      const std::string entry_path = path.empty() ? one.path : path + '/' + one.path;
      if (auto seen = fs::look_at(tree, entry_path, fs::Links::follow)) one.entry = std::move(seen->entry);
    }
    if (!listed.text.empty()) listed.text += ',';
    append_entry_of(listed.text, one.path, one.entry);
  }
  return listed;
}

/// Sends page by page, so that a directory may have any number of entries.
Task<Result<>> send_pages(Request* request, const Base* base, const std::string* path, ListedPage page) {
  auto& http = request->http;
  auto head = json_answer(200, {});
  SKIFF_CO_TRY_VOID(co_await http.start(std::move(head)));
  std::string text = '[' + std::move(page.text);
  bool empty = text.size() == 1;
  for (;;) {
    SKIFF_CO_TRY_VOID(co_await http.write(text));
    if (page.next_cursor.empty()) break;
    auto work = [&] { return list_page(*base->tree, *path, page.next_cursor); };
    auto next = co_await request->agent.pools.disk.run(std::move(work));
    // The body ends without its last chunk: the client sees that it was cut.
    if (!next) co_return std::unexpected{std::move(next.error())};
    page = std::move(*next);
    text = (empty || page.text.empty() ? "" : ",") + page.text;
    empty = empty && page.text.empty();
  }
  SKIFF_CO_TRY_VOID(co_await http.write("]"));
  co_return co_await http.finish();
}

}  // namespace

Task<Result<>> download(Request* request, std::string_view path) {
  const std::string below = below_base(path);
  auto base = co_await base_of(request);
  if (!base) co_return co_await answer_with(request, path_refused("File download failed", base.error()));
  const bool with_bytes = request->http.request().method != "HEAD";
  auto work = [&]() -> Result<api::FileToSend> {
    auto opened = open_at(*base, below, [&](const std::string& at) { return fs::open_to_read(*base->tree, at); });
    if (!opened) return std::unexpected{std::move(opened.error())};
    api::FileToSend file{.file = std::move(*opened)};
    file.tag = fs::entity_tag(file.file.fd.get(), file.file.entry, api::kQuicklyHashed);
    if (with_bytes) file.read_if_small();
    return file;
  };
  auto file = co_await request->agent.pools.disk.run(std::move(work));
  if (!file) {
    co_return co_await answer_with(request, is_absence(file.error().code)
                                                ? message(404, "File not found")
                                                : path_refused("File download failed", file.error()));
  }
  request->http.extra_headers().set("Content-Disposition", disposition_of(path));
  SKIFF_CO_TRY(const auto range, api::asked_range(request->http, *file));
  co_return co_await api::send_part(&request->agent.pools.disk, &request->http, std::move(*file), range);
}

Task<Result<>> list(Request* request, std::string_view path) {
  std::string below = below_base(path);
  auto base = co_await base_of(request);
  if (!base) co_return co_await answer_with(request, path_refused("List files failed", base.error()));
  auto work = [&] {
    return open_at(*base, below, [&](const std::string& at) {
      auto page = list_page(*base->tree, at, {});
      if (page && &at != &below) below = at;
      return page;
    });
  };
  auto page = co_await request->agent.pools.disk.run(std::move(work));
  if (!page) {
    co_return co_await answer_with(request, is_absence(page.error().code)
                                                ? message(404, "Path is not a directory")
                                                : path_refused("List files failed", page.error()));
  }
  if (page->next_cursor.empty()) co_return co_await answer_with(request, json_answer(200, '[' + page->text + ']'));
  co_return co_await send_pages(request, &*base, &below, std::move(*page));
}

Task<Result<>> exists(Request* request, std::string_view path) {
  const std::string below = below_base(path);
  auto base = co_await base_of(request);
  if (!base) co_return co_await answer_with(request, path_refused("Exists check failed", base.error()));
  auto work = [&] {
    return open_at(*base, below,
                   [&](const std::string& at) { return fs::look_at(*base->tree, at, fs::Links::follow); });
  };
  auto seen = co_await request->agent.pools.disk.run(std::move(work));
  // A path that may not be looked at counts as absent, as with os.path.exists.
  if (!seen && !is_absence(seen.error().code) && seen.error().code != Errc::permission_denied) {
    co_return co_await answer_with(request, path_refused("Exists check failed", seen.error()));
  }
  std::string text{'{'};
  append_json_text(text, "path", path);
  protocol::append_json_flag(text, "exists", seen.has_value());
  co_return co_await answer_with(request, json_answer(200, text + '}'));
}

}  // namespace skiff::runtime::dialects::python_runtime
