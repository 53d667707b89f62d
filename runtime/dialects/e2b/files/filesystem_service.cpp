#include "runtime/dialects/e2b/files/filesystem_service.hpp"

#include <algorithm>
#include <utility>

#include "base/async/beside.hpp"
#include "fs/content/read.hpp"
#include "fs/path/stop.hpp"
#include "fs/tree/change.hpp"
#include "fs/tree/list.hpp"
#include "runtime/api/long_work.hpp"
#include "runtime/dialects/e2b/files/entry_info.hpp"
#include "runtime/dialects/e2b/files/user_context.hpp"
#include "runtime/dialects/e2b/messages.hpp"

namespace skiff::runtime::dialects::e2b {
namespace {

constexpr std::size_t kMostEntries = 50'000;
constexpr std::uint32_t kMostDepth = 256;

/// A request about one path.
struct PathRequest {
  UserContext context;
  PathMessage message;
  std::string path;  ///< absolute
};
Task<Result<PathRequest>> read_path_request(Call* call, std::string text) {
  SKIFF_CO_TRY(auto message, read_path(text));
  SKIFF_CO_TRY(auto user, basic_user(call->request.http.request().headers));
  SKIFF_CO_TRY(auto context, co_await find_user(call, std::move(user)));
  SKIFF_CO_TRY(auto path, context.resolve(message.path));
  co_return PathRequest{.context = std::move(context), .message = std::move(message), .path = std::move(path)};
}

/// Runs `work(stop)` on a thread for long work. `stop` is requested when the client has gone.
template <class Work>
Task<std::invoke_result_t<Work&, const std::stop_token&>> run_long(Call* call, Work work) {
  std::stop_source stop;
  auto job = [&]() -> std::invoke_result_t<Work&, const std::stop_token&> {
    if (stop.stop_requested()) return fs::stopped_error();
    return work(stop.get_token());
  };
  auto working = call->agent().pools.long_work.run(std::move(job));
  co_return co_await run_beside(api::stop_without_client(&call->request.http, &stop), std::move(working));
}

Result<std::string> entry_answer(const UserContext& context, const std::string& path) {
  Names names;
  auto entry = entry_info(*context.tree, path, names);
  if (!entry) return std::unexpected{context.explain(std::move(entry.error()), path)};
  return R"({"entry":)" + *entry + '}';
}

/// Composes the answer of a list.
struct Listing {
  const fs::Tree& tree;
  const std::stop_token& stop;
  Names names = {};
  std::string text = R"({"entries":[)";
  std::size_t entries = 0;

  Result<> add(const std::string& directory, std::uint32_t depth) {
    fs::ListOptions options;
    options.tags = false;
    options.stop = stop;
    do {
      SKIFF_TRY(auto page, fs::list(tree, directory, options));
      for (const fs::Listed& one : page.entries) {
        const std::string path = (directory == "/" ? "" : directory) + '/' + one.path;
        auto info = entry_info(tree, path, names);
        if (!info && info.error().code == Errc::path_not_found) continue;  // it was removed meanwhile
        if (!info) return std::unexpected{std::move(info.error())};
        if (++entries > kMostEntries) {
          return fail(Errc::resource_exhausted, "there are more than " + std::to_string(kMostEntries) +
                                                    " entries: list a directory of less depth");
        }
        if (entries > 1) text += ',';
        text += *info;
        if (depth > 1 && one.entry.type == fs::EntryType::directory) {
          // The directory may have been removed, too.
          auto below = add(path, depth - 1);
          if (!below && below.error().code != Errc::path_not_found) return below;
        }
      }
      options.cursor = std::move(page.next_cursor);
    } while (!options.cursor.empty());
    return {};
  }
};

}  // namespace

Task<Result<std::string>> stat_entry(Call* call, std::string text) {
  SKIFF_CO_TRY(auto request, co_await read_path_request(call, std::move(text)));
  auto work = [&] { return entry_answer(request.context, request.path); };
  co_return co_await call->agent().pools.disk.run(std::move(work));
}

Task<Result<std::string>> create_dir(Call* call, std::string text) {
  SKIFF_CO_TRY(auto request, co_await read_path_request(call, std::move(text)));
  const auto& [context, message, path] = request;
  auto make = [&](const fs::Tree& in, fs::Rights) -> Result<std::string> {
    if (const auto there = fs::look_at(in, path, fs::Links::follow)) {
      if (there->entry.type != fs::EntryType::directory) {
        return fail(Errc::not_a_directory, '"' + path + "\" exists, and is not a directory");
      }
      return fail(Errc::already_exists, "directory \"" + path + "\" exists");
    }
    SKIFF_TRY(auto made, context.create_directories(in, path));
    if (made) made->keep();
    return entry_answer(context, path);
  };
  auto work = [&] { return context.change(path, make); };
  co_return co_await call->agent().pools.disk.run(std::move(work));
}

Task<Result<std::string>> move_entry(Call* call, std::string text) {
  SKIFF_CO_TRY(auto message, read_move(text));
  SKIFF_CO_TRY(auto user, basic_user(call->request.http.request().headers));
  SKIFF_CO_TRY(auto context, co_await find_user(call, std::move(user)));
  SKIFF_CO_TRY(auto from, context.resolve(message.source));
  SKIFF_CO_TRY(auto to, context.resolve(message.destination));
  auto work = [&](const std::stop_token& stop) {
    auto move = [&](const fs::Tree& in, fs::Rights) -> Result<std::string> {
      if (auto seen = fs::look_at(in, from); !seen) {
        return std::unexpected{context.explain(std::move(seen.error()), from)};
      }
      auto moved = [&]() -> Result<> {
        SKIFF_TRY(const auto made, context.create_directories(in, to.substr(0, to.rfind('/'))));
        if (from == to) return {};
        SKIFF_TRY_VOID(fs::move(in, from, to, {.existing = fs::Existing::replace, .stop = stop}));
        return {};
      }();
      if (!moved) return std::unexpected{context.explain(std::move(moved.error()), to)};
      return entry_answer(context, to);
    };
    return context.change(to, move);
  };
  co_return co_await run_long(call, std::move(work));
}

Task<Result<std::string>> list_dir(Call* call, std::string text) {
  SKIFF_CO_TRY(auto request, co_await read_path_request(call, std::move(text)));
  auto work = [&](const std::stop_token& stop) -> Result<std::string> {
    Listing listing{.tree = *request.context.tree, .stop = stop};
    if (auto done = listing.add(request.path, std::min(request.message.depth, kMostDepth)); !done) {
      return std::unexpected{request.context.explain(std::move(done.error()), request.path)};
    }
    return std::move(listing.text) + "]}";
  };
  co_return co_await run_long(call, std::move(work));
}

Task<Result<std::string>> remove_entry(Call* call, std::string text) {
  SKIFF_CO_TRY(auto request, co_await read_path_request(call, std::move(text)));
  auto work = [&](const std::stop_token& stop) -> Result<std::string> {
    auto remove = [&](const fs::Tree& in, fs::Rights) {
      return fs::remove(in, request.path, fs::Contents::remove, {}, stop);
    };
    auto removed = request.context.change(request.path, remove);
    if (!removed && removed.error().code != Errc::path_not_found) {
      return std::unexpected{request.context.explain(std::move(removed.error()), request.path)};
    }
    return "{}";
  };
  co_return co_await run_long(call, std::move(work));
}

}  // namespace skiff::runtime::dialects::e2b
