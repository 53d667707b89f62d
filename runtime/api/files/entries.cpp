#include "runtime/api/files/entries.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <ranges>
#include <utility>
#include <vector>

#include <re2/re2.h>

#include "fs/content/read.hpp"
#include "fs/search/glob.hpp"
#include "fs/tree/change.hpp"
#include "protocol/json/base64.hpp"
#include "protocol/json/text.hpp"
#include "runtime/api/files/call.hpp"
#include "runtime/api/files/conditions.hpp"
#include "runtime/api/files/entry_text.hpp"
#include "runtime/api/files/requests.hpp"
#include "runtime/api/long_work.hpp"

namespace skiff::runtime::api {
namespace {

constexpr std::uint64_t kUsualPage = 1000;
constexpr std::uint64_t kLargestPage = 10'000;
constexpr std::size_t kMostPaths = 1000;

/// Runs a change and answers with the entry that is there afterwards.
template <class Change>
Task<Result<>> change(Call& call, std::string path, Change work) {
  SKIFF_CO_TRY(auto written, co_await on_disk(call, std::move(work)));
  if (written.special > 0) call.http.extra_headers().set("X-Skiff-Special-Files", std::to_string(written.special));
  co_return co_await answer_entry(call, written.created ? 201 : 200, path, written.entry, written.tag);
}

/// Whether `text` is a path as in a list. It may have any length, because a tree may be deeper than the longest path.
bool is_path_of_a_list(std::string_view text) {
  return std::ranges::all_of(text | std::views::split('/'), [](const auto& part) {
    const std::string_view name{part};
    return !name.empty() && name != "." && name != ".." && !name.contains('\0') && name.size() <= fs::kMostNameBytes;
  });
}

using Transferring = Result<fs::Written> (*)(const fs::Tree&, std::string_view, std::string_view, const fs::Transfer&);

Task<Result<>> transfer(Call& call, Transferring how) {
  SKIFF_CO_TRY(auto file, co_await FileCall::of(call));
  SKIFF_CO_TRY(auto request, call.decode<MoveRequest>());
  SKIFF_CO_TRY(auto conditions, conditions_of(call));
  fs::Transfer options{.existing = request.overwrite ? fs::Existing::replace : fs::Existing::refuse,
                       .conditions = std::move(conditions)};
  auto work = [how, tree = file.tree, from = request.from, to = request.to,
               options = std::move(options)](const std::stop_token& stop) mutable {
    options.stop = stop;
    return how(*tree, from, to, options);
  };
  co_return co_await change(call, request.to, std::move(work));
}

}  // namespace

Result<std::string> list_page(const fs::Tree& tree, std::string_view path, const fs::ListOptions& options) {
  std::string text{R"({"items":[)"};
  const fs::ListSink write = [&text](const fs::SeenEntry& one) {
    if (text.back() != '[') text += ',';
    append_entry(text, one.path, one.entry, one.tag);
  };
  SKIFF_TRY(auto end, fs::list(tree, path, options, write));
  text += ']';
  if (!end.next_cursor.empty()) {
    protocol::append_json_key(text, "next_cursor");
    protocol::append_json_string(text, protocol::encode_base64url(end.next_cursor));
  }
  if (end.unreadable > 0) protocol::append_json_number(text, "unreadable", end.unreadable);
  if (end.too_deep) protocol::append_json_flag(text, "too_deep", true);
  text += '}';
  return text;
}

Result<std::function<bool(std::string_view)>> wanted_by(std::string_view pattern) {
  constexpr std::string_view kExpression = "re:";
  if (pattern.starts_with(kExpression)) {
    RE2::Options options;
    options.set_log_errors(false);
    auto expression = std::make_shared<const RE2>(std::string{pattern.substr(kExpression.size())}, options);
    if (!expression->ok()) {
      return fail(Errc::invalid_field, "the pattern is not a regular expression: " + expression->error(), "pattern");
    }
    return [expression](std::string_view path) {
      return RE2::PartialMatch(re2::StringPiece{path.data(), path.size()}, *expression);
    };
  }
  auto glob = fs::Glob::compile(pattern);
  if (!glob) {
    glob.error().field = "pattern";
    return std::unexpected{std::move(glob.error())};
  }
  auto shared = std::make_shared<const fs::Glob>(std::move(*glob));
  return [shared](std::string_view path) { return shared->matches(path); };
}

Result<std::string> list_cursor(std::string_view next_cursor) {
  auto decoded = protocol::decode_base64url(next_cursor);
  if (decoded && (decoded->empty() || is_path_of_a_list(*decoded))) return std::move(*decoded);
  return fail(Errc::invalid_field, "cursor must be the next_cursor of an answer", "cursor");
}

Task<Result<>> list_files(Call& call) {
  SKIFF_CO_TRY(auto file, co_await FileCall::of(call));
  fs::ListOptions options;
  SKIFF_CO_TRY(auto limit, call.query_number("limit", kLargestPage));
  options.limit = limit.value_or(kUsualPage);
  if (options.limit == 0) co_return fail(Errc::invalid_field, "limit must be at least 1", "limit");
  SKIFF_CO_TRY(auto recursive, call.query_flag("recursive"));
  options.depth = recursive ? fs::Depth::all : fs::Depth::one;
  if (const auto cursor = call.query("cursor")) {
    SKIFF_CO_TRY(auto decoded, list_cursor(*cursor));
    options.cursor = std::move(decoded);
  }
  if (const auto pattern = call.query("pattern")) {
    SKIFF_CO_TRY(auto wanted, wanted_by(*pattern));
    options.wanted = std::move(wanted);
  }
  const std::string path{call.query("path").value_or("")};
  auto work = [tree = file.tree, &path, &options](const std::stop_token& stop) {
    options.stop = stop;
    return list_page(*tree, path, options);
  };
  SKIFF_CO_TRY(auto text, co_await on_disk(call, std::move(work)));
  co_return co_await call.json(200, std::move(text));
}

Task<Result<>> stat_files(Call& call) {
  SKIFF_CO_TRY(auto file, co_await FileCall::of(call));
  std::vector<std::string> paths;
  for (const auto& parameter : call.target().query) {
    if (parameter.name == "path") paths.push_back(parameter.value);
  }
  if (paths.size() > kMostPaths) {
    co_return fail(Errc::invalid_field, "at most " + std::to_string(kMostPaths) + " paths at once", "path");
  }
  std::uint64_t may_hash = kQuicklyHashed;  // bytes, for all paths together
  bool wants_more = false;
  // A missing path does not fail the others: its item has the error.
  auto work = [&, tree = file.tree](const std::stop_token& stop) -> Result<std::string> {
    std::string text{R"({"items":[)"};
    for (const std::string& path : paths) {
      if (stop.stop_requested()) return fs::stopped_error();
      if (text.back() != '[') text += ',';
      if (auto seen = fs::look_at(*tree, path)) {
        const auto tag = fs::entity_tag(seen->object.get(), seen->entry, may_hash, stop);
        if (tag && tag->starts_with("\"h-")) may_hash -= std::min(may_hash, seen->entry.size);
        wants_more = wants_more || wants_long_hash(seen->entry, tag);
        append_entry(text, path, seen->entry, tag ? *tag : std::string_view{});
      } else {
        append_failure(text, path, seen.error());
      }
    }
    text += "]}";
    return text;
  };
  auto text = co_await on_disk(call, work);
  if (text && wants_more) {
    may_hash = fs::kMostHashedForTag;
    text = co_await on_long(call, std::move(work));
  }
  if (!text) co_return std::unexpected{std::move(text.error())};
  co_return co_await call.json(200, std::move(*text));
}

Task<Result<>> move_file(Call& call) {
  return transfer(call, &fs::move);
}

Task<Result<>> copy_file(Call& call) {
  return transfer(call, &fs::copy);
}

Task<Result<>> create_directory(Call& call) {
  SKIFF_CO_TRY(auto file, co_await FileCall::of(call));
  SKIFF_CO_TRY(auto request, call.decode<MakeDirectoryRequest>());
  auto work = [tree = file.tree, asked = request] {
    return fs::create_directory(*tree, asked.path, asked.parents ? fs::Parents::make : fs::Parents::require);
  };
  co_return co_await change(call, request.path, std::move(work));
}

Task<Result<>> create_link(Call& call) {
  SKIFF_CO_TRY(auto file, co_await FileCall::of(call));
  SKIFF_CO_TRY(auto request, call.decode<MakeLinkRequest>());
  auto work = [tree = file.tree, asked = request] { return fs::create_link(*tree, asked.path, asked.target); };
  co_return co_await change(call, request.path, std::move(work));
}

Task<Result<>> set_file_mode(Call& call) {
  SKIFF_CO_TRY(auto file, co_await FileCall::of(call));
  SKIFF_CO_TRY(auto request, call.decode<SetModeRequest>());
  auto mode = asked_mode(call.identity, request.mode, "/mode");
  if (!mode) co_return std::unexpected{std::move(mode.error())};
  auto conditions = conditions_of(call);
  if (!conditions) co_return std::unexpected{std::move(conditions.error())};
  auto work = [tree = file.tree, path = request.path, mode = *mode, conditions = std::move(*conditions)](
                  const std::stop_token& stop) { return fs::set_mode(*tree, path, mode, conditions, stop); };
  co_return co_await change(call, request.path, std::move(work));
}

}  // namespace skiff::runtime::api
