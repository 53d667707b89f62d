#include "runtime/api/files/search/search.hpp"

#include <memory>
#include <utility>

#include "fs/content/read.hpp"
#include "runtime/api/files/call.hpp"
#include "runtime/api/files/pool_stream.hpp"
#include "runtime/api/files/search/search_records.hpp"

namespace skiff::runtime::api {
namespace {

constexpr std::uint64_t kMostMatches = 1'000'000;
constexpr std::uint64_t kMostContext = 100;
constexpr unsigned kThreads = 2;

/// The directory where a search begins.
struct SearchRoot {
  UniqueFd directory;
  UniqueFd root;  ///< the session's root, if the search begins below it
  fs::WalkOptions walk;
};

Result<fs::WalkOptions> walk_options(const Call& call) {
  fs::WalkOptions walk{.threads = kThreads};
  SKIFF_TRY(auto hidden, call.query_flag("hidden"));
  SKIFF_TRY(auto ignored, call.query_flag("ignored"));
  walk.hidden = hidden;
  walk.ignored = ignored;
  return walk;
}

Result<SearchRoot> open_search_root(const fs::Tree& tree, const std::string& path, fs::WalkOptions walk) {
  SKIFF_TRY(auto directory, tree.open_directory(path));
  SearchRoot start{.directory = std::move(directory), .root = {}, .walk = std::move(walk)};
  start.walk.prefix = relative_prefix(path);
  // Ignore files between the root and the directory apply, too, but not for an absolute path.
  if (!start.walk.prefix.empty() && !path.starts_with('/') && path.find("..") == std::string::npos) {
    SKIFF_TRY(start.root, tree.open_directory(""));
    start.walk.root = start.root.get();
  }
  return start;
}

/// Passes matches to `sink` as lines of JSON, which it writes into `text`.
template <class Match>
std::function<bool(std::span<const Match>)> line_sink(std::string& text, const Answer<Match>& answer,
                                                      const fs::ByteSink& sink) {
  return [&text, &answer, &sink](std::span<const Match> matches) {
    text.clear();
    for (const Match& match : matches) {
      answer.append(text, match);
      text += '\n';
    }
    return sink(text);
  };
}

Result<GrepAsk> read_grep(const Call& call) {
  SKIFF_TRY(auto literal, call.query_flag("literal"));
  SKIFF_TRY(auto ignore_case, call.query_flag("ignore_case"));
  const fs::LinePattern pattern{
      .text = std::string{*call.query("pattern")}, .literal = literal, .ignore_case = ignore_case};
  SKIFF_TRY(auto matcher, blaming("pattern", fs::LineMatcher::compile(pattern)));
  GrepAsk ask{.matcher = std::move(matcher), .options = {}, .path = std::string{call.query("path").value_or("")}};
  SKIFF_TRY(ask.options.walk, walk_options(call));
  if (const auto text = call.query("glob")) {
    SKIFF_TRY(ask.options.only, blaming("glob", fs::Glob::compile(*text)));
  }
  struct Number {
    const char* name;
    std::uint64_t most;
  };
  const auto number = [&call](const Number& asked, auto& into) -> Result<> {
    SKIFF_TRY(auto value, call.query_number(asked.name, asked.most));
    if (value) into = static_cast<std::remove_reference_t<decltype(into)>>(*value);
    return {};
  };
  SKIFF_TRY_VOID(number({"limit", kMostMatches}, ask.options.most));
  SKIFF_TRY_VOID(number({"context", kMostContext}, ask.options.lines.before));
  ask.options.lines.after = ask.options.lines.before;
  SKIFF_TRY_VOID(number({"before", kMostContext}, ask.options.lines.before));
  SKIFF_TRY_VOID(number({"after", kMostContext}, ask.options.lines.after));
  return ask;
}

}  // namespace

Result<> run_grep(const fs::Tree& tree, GrepAsk& ask, const fs::ByteSink& sink, const std::stop_token& stop) {
  std::string text;
  const fs::GrepSink give = line_sink(text, grep_match_answer(), sink);
  fs::GrepSummary summary;
  SKIFF_TRY(auto seen, fs::look_at(tree, ask.path, fs::Links::follow));
  if (seen.entry.type == fs::EntryType::file) {
    SKIFF_TRY(auto file, tree.open_file(ask.path, O_RDONLY));
    summary = fs::grep_file(file, relative_prefix(ask.path), ask.matcher, ask.options, stop, give);
  } else {
    SKIFF_TRY(auto start, open_search_root(tree, ask.path, std::move(ask.options.walk)));
    ask.options.walk = std::move(start.walk);
    summary = fs::grep(start.directory, ask.matcher, ask.options, stop, give);
  }
  sink(event_text(grep_summary(), summary) + '\n');
  return {};
}

Result<> run_glob(const fs::Tree& tree, GlobAsk& ask, const fs::ByteSink& sink, const std::stop_token& stop) {
  SKIFF_TRY(auto start, open_search_root(tree, ask.path, std::move(ask.options.walk)));
  ask.options.walk = std::move(start.walk);
  std::string text;
  const auto summary =
      fs::find_matches(start.directory, ask.glob, ask.options, stop, line_sink(text, glob_match_answer(), sink));
  sink(event_text(glob_summary(), summary) + '\n');
  return {};
}

namespace {

Task<Result<>> stream_lines(Call& call, Producer producer) {
  return stream_from_pool(call, std::string{accepted_type(call, "application/x-ndjson", "application/octet-stream")},
                          std::move(producer));
}

}  // namespace

Task<Result<>> glob_files(Call& call) {
  SKIFF_CO_TRY(auto file, co_await FileCall::of(call));
  SKIFF_CO_TRY(auto glob, blaming("pattern", fs::Glob::compile(*call.query("pattern"))));
  SKIFF_CO_TRY(auto walk, walk_options(call));
  SKIFF_CO_TRY(auto most, call.query_number("limit", kMostMatches));
  auto ask = std::make_shared<GlobAsk>(GlobAsk{.glob = std::move(glob),
                                               .options = {.walk = std::move(walk)},
                                               .path = std::string{call.query("path").value_or("")}});
  if (most) ask->options.most = *most;
  Producer producer = [tree = file.tree, ask](const fs::ByteSink& sink, const std::stop_token& stop) {
    return run_glob(*tree, *ask, sink, stop);
  };
  co_return co_await stream_lines(call, std::move(producer));
}

Task<Result<>> grep_files(Call& call) {
  SKIFF_CO_TRY(auto file, co_await FileCall::of(call));
  SKIFF_CO_TRY(auto read, read_grep(call));
  auto ask = std::make_shared<GrepAsk>(std::move(read));
  Producer producer = [tree = file.tree, ask](const fs::ByteSink& sink, const std::stop_token& stop) {
    return run_grep(*tree, *ask, sink, stop);
  };
  co_return co_await stream_lines(call, std::move(producer));
}

}  // namespace skiff::runtime::api
