#include <algorithm>
#include <utility>

#include "base/async/beside.hpp"
#include "fs/content/edit.hpp"
#include "fs/content/read.hpp"
#include "fs/content/write.hpp"
#include "fs/path/stop.hpp"
#include "protocol/json/base64.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"
#include "runtime/api/answers/schema_parts.hpp"
#include "runtime/api/files/edits.hpp"
#include "runtime/api/files/entries.hpp"
#include "runtime/api/files/entry_text.hpp"
#include "runtime/api/files/search/search.hpp"
#include "runtime/api/files/watch_route.hpp"
#include "runtime/mcp/progress.hpp"
#include "runtime/mcp/tools/file_arguments.hpp"
#include "runtime/mcp/tools/tools.hpp"

namespace skiff::runtime::mcp {
namespace {

using TreePointer = std::shared_ptr<const fs::Tree>;

/// The schema of a list of entries, which may have further members.
const std::string kItems = R"({"type":"array","items":{"type":"object","required":["path"]}})";

template <class T>
std::string arguments_schema() {
  return protocol::json_schema<T>();
}

Task<Result<TreePointer>> tree_of(std::shared_ptr<Request> request, std::optional<std::string> session) {
  SKIFF_CO_TRY(auto found, request->session(session));
  co_return co_await found->tree();
}

/// Runs `work(stop)` on a thread for long work, which goes through a tree or a large file. `stop` is requested when the
/// request is cancelled.
template <class Work>
Task<Result<std::string>> on_long_work(std::shared_ptr<Request> request, Work work) {
  auto job = [stop = request->job->stop.get_token(), &work]() -> Result<std::string> {
    if (stop.stop_requested()) return fs::stopped_error();
    return work(stop);
  };
  co_return co_await request->agent.pools.long_work.run(std::move(job));
}

/// Collects the lines of a search in one object, {"items":[...],...}. The last line is a summary, whose members follow
/// the items.
class Records {
 public:
  /// Adds whole lines; false: there is no room for more.
  bool add(std::string_view lines) {
    while (!lines.empty()) {
      const std::size_t end = lines.find('\n');
      const std::string_view line = lines.substr(0, end);
      lines.remove_prefix(std::min(lines.size(), line.size() + 1));
      if (line.starts_with(R"({"type":"summary")")) {
        summary_ = line.substr(line.find(',') + 1);
        continue;
      }
      full_ = full_ || text_.size() + line.size() > kMostBytes;
      if (full_) continue;
      if (!text_.ends_with('[')) text_ += ',';
      text_ += line;
    }
    return !full_;
  }
  /// Returns the object. The `truncated` of the summary says, too, that the search was ended early.
  [[nodiscard]] std::string take() && { return text_ + "]," + summary_; }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
  std::string text_{R"({"items":[)"};
  std::string summary_;
  bool full_ = false;
};

std::string search_schema() {
  return api::object({{"items", kItems},
                      {"matches", api::kCount},
                      {"truncated", api::kFlag, true, "there may be more: narrow the search or raise limit"},
                      {"unreadable", api::kCount},
                      {"too_large", api::kCount, false},
                      {"binary", api::kCount, false, "files that were left out: binary, or in UTF-16"}});
}

// --- reading ---

Result<std::string> read_range(const fs::Tree& tree, const ReadFileArguments& asked, const std::stop_token& stop) {
  SKIFF_TRY(auto opened, fs::open_to_read(tree, asked.path));
  const std::uint64_t size = opened.entry.size;
  fs::ByteRange part{.from = 0, .to = size};
  if (asked.first_line || asked.last_line) {
    const fs::LineRange lines{.first = asked.first_line.value_or(1), .last = asked.last_line.value_or(0)};
    SKIFF_TRY(part, fs::find_lines(opened.fd.get(), lines, size, fs::kMostReadForLines, stop));
  }
  std::string bytes(std::min(part.to - part.from, asked.max_bytes), '\0');
  SKIFF_TRY(auto got, fs::read_at(opened.fd.get(), part.from, bytes));
  bytes.resize(got);
  const bool cut = part.from + bytes.size() < part.to;
  if (cut) bytes.resize(bytes.size() - protocol::incomplete_tail(bytes));
  const bool is_text = protocol::is_valid_utf8(bytes);
  std::string text{'{'};
  protocol::append_json_text(text, "path", asked.path);
  protocol::append_json_text(text, is_text ? "text" : "base64", is_text ? bytes : protocol::encode_base64(bytes));
  protocol::append_json_number(text, "size", size);
  if (is_text) {
    const auto first = asked.first_line.value_or(1);
    const auto breaks = static_cast<std::uint64_t>(std::ranges::count(bytes, '\n'));
    const std::uint64_t lines = breaks + (bytes.empty() || bytes.ends_with('\n') ? 0 : 1);
    protocol::append_json_number(text, "first_line", first);
    protocol::append_json_number(text, "lines", lines);
    if (cut) {
      protocol::append_json_text(
          text, "next_step",
          breaks == 0 ? "One line is longer than max_bytes: raise it, or use run_command with cut or head -c."
                      : "There is more: call read_file with first_line " + std::to_string(first + breaks) + ".");
    }
  }
  protocol::append_json_flag(text, "truncated", cut);
  return text + '}';
}

Task<Result<std::string>> read_one(std::shared_ptr<Request> request, nlohmann::json arguments) {
  SKIFF_CO_TRY(auto asked, protocol::decode_json<ReadFileArguments>(arguments));
  if (asked.last_line && *asked.last_line < asked.first_line.value_or(1)) {
    co_return fail(Errc::invalid_field, "last_line must not be before first_line", "/last_line");
  }
  SKIFF_CO_TRY(auto tree, co_await tree_of(request, asked.session));
  co_return co_await on_long_work(request, [&](const std::stop_token& stop) { return read_range(*tree, asked, stop); });
}

std::string read_schema() {
  return api::object({{"path", api::kText},
                      {"text", api::kText, false, "its content, where that is text"},
                      {"base64", api::kText, false, "its content, where that is not"},
                      {"size", api::kCount, true, "of the whole file, in bytes"},
                      {"first_line", api::kCount, false},
                      {"lines", api::kCount, false, "in this answer"},
                      {"truncated", api::kFlag},
                      {"next_step", api::kText, false}});
}

// --- writing ---

std::string entry_text(std::string_view path, const fs::Written& written) {
  std::string text;
  api::append_entry(text, path, written.entry, written.tag);
  text.pop_back();
  protocol::append_json_flag(text, "created", written.created);
  return text + '}';
}

std::string entry_schema() {
  return api::object({{"path", api::kText},
                      {"type", api::kText},
                      {"size", api::kCount},
                      {"mode", api::kText},
                      {"modified_at", api::kTime},
                      {"created", api::kFlag, false},
                      {"diff", api::kText, false, "what has changed"}});
}

Task<Result<std::string>> write_one(std::shared_ptr<Request> request, nlohmann::json arguments) {
  SKIFF_CO_TRY(auto asked, protocol::decode_json<WriteFileArguments>(arguments));
  if (asked.base64) {
    asked.text = protocol::decode_base64(*asked.base64);
    if (!asked.text) co_return fail(Errc::invalid_field, "this is not base64 (RFC 4648, with padding)", "/base64");
  }
  SKIFF_CO_TRY(auto tree, co_await tree_of(request, asked.session));
  auto write = [&] { return fs::write_file(*tree, asked.path, *asked.text); };
  SKIFF_CO_TRY(auto written, co_await request->agent.pools.disk.run(std::move(write)));
  co_return entry_text(asked.path, written);
}

Task<Result<std::string>> edit_one(std::shared_ptr<Request> request, nlohmann::json arguments) {
  SKIFF_CO_TRY(auto asked, protocol::decode_json<EditFileArguments>(arguments));
  SKIFF_CO_TRY(auto edits, api::edits_of(asked.edits, "/edits"));
  SKIFF_CO_TRY(auto tree, co_await tree_of(request, asked.session));
  auto edit = [&] { return fs::edit(*tree, asked.path, edits); };
  SKIFF_CO_TRY(auto edited, co_await request->agent.pools.disk.run(std::move(edit)));
  std::string text;
  api::append_edited(text, asked.path, edited);
  co_return text;
}

Task<Result<std::string>> change_tree(std::shared_ptr<Request> request, nlohmann::json arguments) {
  SKIFF_CO_TRY(auto asked, protocol::decode_json<ApplyChangesArguments>(arguments));
  api::BatchRequest batch{.operations = std::move(asked.operations), .atomic = asked.atomic};
  SKIFF_CO_TRY(auto operations, api::operations_of(request->caller.identity, batch));
  SKIFF_CO_TRY(auto tree, co_await tree_of(request, asked.session));
  co_return co_await on_long_work(
      request, [&](const std::stop_token& stop) { return api::run_batch(*tree, operations, batch.atomic, stop); });
}

std::string items_schema() {
  return api::object({{"items", kItems},
                      {"next_cursor", api::kText, false},
                      {"unreadable", api::kCount, false, "directories that could not be looked into"},
                      {"too_deep", api::kFlag, false, "some lie deeper than a list looks"}});
}

// --- looking ---

Task<Result<std::string>> list_one(std::shared_ptr<Request> request, nlohmann::json arguments) {
  SKIFF_CO_TRY(auto asked, protocol::decode_json<ListDirectoryArguments>(arguments));
  fs::ListOptions options{.depth = asked.recursive ? fs::Depth::all : fs::Depth::one, .limit = asked.limit};
  if (asked.cursor) {
    SKIFF_CO_TRY(options.cursor, api::list_cursor(*asked.cursor));
  }
  options.tags = false;
  SKIFF_CO_TRY(auto tree, co_await tree_of(request, asked.session));
  co_return co_await on_long_work(request, [&](const std::stop_token& stop) {
    options.stop = stop;
    return api::list_page(*tree, asked.path, options);
  });
}

Task<Result<std::string>> find_all(std::shared_ptr<Request> request, nlohmann::json arguments) {
  SKIFF_CO_TRY(auto asked, protocol::decode_json<FindFilesArguments>(arguments));
  SKIFF_CO_TRY(auto glob, blaming("/pattern", fs::Glob::compile(asked.pattern)));
  SKIFF_CO_TRY(auto tree, co_await tree_of(request, asked.session));
  api::GlobAsk ask{.glob = std::move(glob),
                   .options = {.walk = {.hidden = asked.hidden, .ignored = asked.ignored}, .most = asked.limit},
                   .path = asked.path};
  co_return co_await on_long_work(request, [&](const std::stop_token& stop) -> Result<std::string> {
    Records records;
    auto found = api::run_glob(*tree, ask, [&](std::string_view lines) { return records.add(lines); }, stop);
    if (!found) return std::unexpected{std::move(found.error())};
    return std::move(records).take();
  });
}

Task<Result<std::string>> search_all(std::shared_ptr<Request> request, nlohmann::json arguments) {
  SKIFF_CO_TRY(auto asked, protocol::decode_json<SearchFilesArguments>(arguments));
  const fs::LinePattern pattern{.text = asked.pattern, .literal = asked.literal, .ignore_case = asked.ignore_case};
  SKIFF_CO_TRY(auto matcher, blaming("/pattern", fs::LineMatcher::compile(pattern)));
  api::GrepAsk ask{.matcher = std::move(matcher), .options = {}, .path = asked.path};
  ask.options.walk.hidden = asked.hidden;
  ask.options.walk.ignored = asked.ignored;
  ask.options.lines = {.before = asked.context, .after = asked.context, .longest_line = 1024};
  ask.options.most = asked.limit;
  if (asked.glob) {
    SKIFF_CO_TRY(ask.options.only, blaming("/glob", fs::Glob::compile(*asked.glob)));
  }
  SKIFF_CO_TRY(auto tree, co_await tree_of(request, asked.session));
  co_return co_await on_long_work(request, [&](const std::stop_token& stop) -> Result<std::string> {
    Records records;
    auto found = api::run_grep(*tree, ask, [&](std::string_view lines) { return records.add(lines); }, stop);
    if (!found) return std::unexpected{std::move(found.error())};
    return std::move(records).take();
  });
}

/// Waits for the events after `from`; empty: none came in that time, or none can come.
Task<Result<std::vector<fs::WatchEvent>>> next_events(std::shared_ptr<fs::DirectoryWatch> watch, std::uint64_t from,
                                                      Milliseconds wait) {
  constexpr std::size_t kMostEvents = 1000;
  const auto until = std::chrono::steady_clock::now() + wait;
  for (;;) {
    auto events = co_await fs::DirectoryWatch::events(watch, from, kMostEvents, until);
    const bool is_over = watch->over() || std::chrono::steady_clock::now() >= until;
    if (!events || !events->empty() || is_over) co_return events;
  }
}

Task<Result<std::string>> watch_all(std::shared_ptr<Request> request, nlohmann::json arguments) {
  SKIFF_CO_TRY(auto asked, protocol::decode_json<WatchChangesArguments>(arguments));
  auto tree = co_await tree_of(request, asked.session);
  if (!tree) co_return std::unexpected{std::move(tree.error())};
  auto open = [tree = *tree, path = asked.path] { return tree->open_directory(path); };
  SKIFF_CO_TRY(auto joined, co_await request->agent.watches.join(std::move(open), api::relative_prefix(asked.path),
                                                                 asked.recursive, (*tree)->levels_of(asked.path)));
  const auto& watch = joined.watch();
  const std::uint64_t from = asked.cursor.value_or(watch->newest());
  const Milliseconds wait = std::min(asked.wait, request->agent.settings.max_wait);
  auto message = [] { return std::string{"watching"}; };
  SKIFF_CO_TRY(auto events,
               co_await run_beside(tell_progress(request, wait, std::move(message)), next_events(watch, from, wait)));
  std::string text{R"({"items":[)"};
  for (const fs::WatchEvent& event : events) {
    if (text.back() != '[') text += ',';
    api::change_answer().append(text, event);
  }
  text += ']';
  protocol::append_json_number(text, "cursor", events.empty() ? from : events.back().cursor);
  co_return text + '}';
}

std::string watch_schema() {
  return api::object({{"items", api::list_of(api::change_answer().schema().json)},
                      {"cursor", api::kCount, true, "for the next call"}});
}

constexpr std::array kFileTools{
    Tool{.name = "read_file",
         .title = "Read a file",
         .description = "Read a file, or some of its lines. Binary content is returned as base64.",
         .scope = Scope::read,
         .read_only = true,
         .idempotent = true,
         .input = arguments_schema<ReadFileArguments>,
         .output = read_schema,
         .run = read_one},
    Tool{.name = "write_file",
         .title = "Write a file",
         .description =
             "Write a whole file: it is created, or its content is replaced in one step. Up to 700 KB at once; "
             "change parts of a file with edit_file instead.",
         .scope = Scope::exec,
         .destructive = true,
         .idempotent = true,
         .input = arguments_schema<WriteFileArguments>,
         .output = entry_schema,
         .run = write_one},
    Tool{.name = "edit_file",
         .title = "Edit a file",
         .description =
             "Replace pieces of text in a file and return the diff. Each `old` must occur exactly `count` times "
             "(once by default), white space included; otherwise nothing is changed.",
         .scope = Scope::exec,
         .destructive = true,
         .input = arguments_schema<EditFileArguments>,
         .output = entry_schema,
         .run = edit_one},
    Tool{.name = "list_directory",
         .title = "List a directory",
         .description = "List a directory with types, sizes and times. Hidden files are listed too.",
         .scope = Scope::read,
         .read_only = true,
         .idempotent = true,
         .input = arguments_schema<ListDirectoryArguments>,
         .output = items_schema,
         .run = list_one},
    Tool{.name = "find_files",
         .title = "Find files",
         .description =
             "Find files whose paths match a glob. Hidden files, and files that .gitignore excludes, are skipped.",
         .scope = Scope::read,
         .read_only = true,
         .idempotent = true,
         .input = arguments_schema<FindFilesArguments>,
         .output = search_schema,
         .run = find_all},
    Tool{.name = "search_files",
         .title = "Search in files",
         .description =
             "Search the lines of files for a regular expression, as grep -r does. Hidden files, binary files, "
             "and files that .gitignore excludes are skipped.",
         .scope = Scope::read,
         .read_only = true,
         .idempotent = true,
         .input = arguments_schema<SearchFilesArguments>,
         .output = search_schema,
         .run = search_all},
    Tool{.name = "apply_changes",
         .title = "Apply several changes",
         .description = "Write, edit, move and delete several files at once, all or nothing. Use it also to move or "
                        "delete a single file.",
         .scope = Scope::exec,
         .destructive = true,
         .input = arguments_schema<ApplyChangesArguments>,
         .output = items_schema,
         .run = change_tree},
    Tool{.name = "watch_changes",
         .title = "Watch a tree for changes",
         .description =
             "Report what was created, modified, deleted and renamed below a directory since a cursor. The first "
             "call, without a cursor, starts the watch, which is kept for a minute between calls.",
         .scope = Scope::read,
         .read_only = true,
         .input = arguments_schema<WatchChangesArguments>,
         .output = watch_schema,
         .run = watch_all},
};

}  // namespace

std::span<const Tool> file_tools() {
  return kFileTools;
}

}  // namespace skiff::runtime::mcp
