#include "runtime/dialects/e2b/files/user_context.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fs/path/owner.hpp"
#include "protocol/json/base64.hpp"
#include "sessions/registry.hpp"

namespace skiff::runtime::dialects::e2b {
namespace {

struct Found {
  sessions::Credentials user;
  std::string base;
};

/// Runs on a thread that may block.
Result<Found> look_up(const std::string& name, const sessions::Credentials& own, const fs::Tree& tree,
                      const std::string& root, const std::string& workdir) {
  Found found{.user = own, .base = root};
  if (!name.empty() && name != own.name) {
    SKIFF_TRY(found.user, sessions::look_up_user(name));
  }
  for (const std::string& wanted : {workdir, found.user.home}) {
    if (wanted.empty() || !tree.open_directory(wanted)) continue;
    found.base = wanted;
    break;
  }
  return found;
}

/// Whether neither the user nor a directory must be looked up. This is the usual case, which costs no thread.
bool needs_no_look(const std::string& name, const sessions::Credentials& own, const fs::Tree& tree,
                   const std::string& workdir) {
  return (name.empty() || name == own.name) && !may_be_in(tree, workdir) && !may_be_in(tree, own.home);
}

/// The files that clients of the dialect may use.
Task<Result<std::shared_ptr<const fs::Tree>>> tree_of(Call* call, sessions::Session* session) {
  if (!call->state.files) co_return co_await session->tree();
  session->touch();
  co_return *call->state.files;
}

}  // namespace

bool may_be_in(const fs::Tree& tree, std::string_view path) {
  const auto split = fs::split_path(path);
  if (path.empty() || !split) return false;
  return !split->absolute || fs::find_start(tree.roots(), split->names, path).has_value();
}

Result<std::string> absolute_path(std::string_view path, std::string_view base, std::string_view home) {
  std::string whole;
  if (path.starts_with('~')) {
    if (path.size() > 1 && path[1] != '/') {
      return fail(Errc::invalid_field, "another user's home can't be named by ~: give the path");
    }
    whole = std::string{home} + '/' + std::string{path.substr(1)};
  } else {
    whole = path.starts_with('/') ? std::string{path} : std::string{base} + '/' + std::string{path};
  }
  std::vector<std::string_view> names;
  std::string_view rest = whole;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (name.empty() || name == ".") continue;
    if (name != "..") {
      names.push_back(name);
    } else if (!names.empty()) {
      names.pop_back();
    }
  }
  std::string clean;
  for (const std::string_view name : names) clean += '/' + std::string{name};
  return clean.empty() ? "/" : clean;
}

Error UserContext::explain(Error error, const std::string& path) const {
  if (error.code == Errc::path_escapes_root) {
    error.message = '"' + path + "\" is outside of " + session->root() + ", the root of the agent's files (--root)";
  }
  return error;
}

fs::Attributes UserContext::owner() const {
  fs::Attributes attributes;
  if (asker) {
    attributes.uid = asker->uid;
    attributes.gid = asker->gid;
  }
  return attributes;
}

Result<std::optional<fs::DirectoryToFill>> UserContext::create_directories(const fs::Tree& in,
                                                                           const std::string& path) const {
  if (const auto there = in.open_object(path, fs::Links::follow); there || there.error().code != Errc::path_not_found) {
    if (!there) return std::unexpected{explain(there.error(), path)};
    return std::nullopt;
  }
  std::optional<fs::MadeFor> made_for;
  if (asker) {
    SKIFF_TRY(auto begun, fs::MadeFor::begin(asker->uid, asker->gid, path));
    made_for.emplace(std::move(begun));
  }
  auto made = fs::DirectoryToFill::open(in, path);
  if (!made) return std::unexpected{explain(std::move(made.error()), path)};
  return std::optional{std::move(*made)};
}

Result<std::string> basic_user(const protocol::Headers& headers) {
  std::string_view value = headers.get("Authorization");
  constexpr std::string_view kScheme = "Basic ";
  if (!protocol::same_text(value.substr(0, kScheme.size()), kScheme)) return std::string{};
  value.remove_prefix(kScheme.size());
  const auto decoded = protocol::decode_base64(value);
  if (!decoded || decoded->find('\0') != std::string::npos) {
    return fail(Errc::unauthenticated, "Authorization: expected the base64 of a user's name and a colon");
  }
  return decoded->substr(0, decoded->find(':'));
}

Task<Result<UserContext>> find_user(Call* call, std::string name) {
  Agent& agent = call->agent();
  SKIFF_CO_TRY(auto session, agent.registry.find(sessions::Registry::kDefault));
  call->request.session = session->id();
  SKIFF_CO_TRY(auto tree, co_await tree_of(call, session.get()));
  if (name.empty()) name = call->state.default_user;
  std::shared_ptr<const sessions::Credentials> own = agent.supervisor.current_user.get();
  if (const std::string& home = agent.settings.e2b_home; !home.empty()) {
    auto changed = std::make_shared<sessions::Credentials>(*own);
    changed->home = home;
    own = std::move(changed);
  }
  const std::string root = session->root();
  const std::string workdir = call->state.default_workdir;
  Found found{.user = *own, .base = root};
  if (!needs_no_look(name, *own, *tree, workdir)) {
    auto look = [&] { return look_up(name, *own, *tree, root, workdir); };
    SKIFF_CO_TRY(found, co_await agent.pools.disk.run(std::move(look)));
  }
  std::optional<fs::Asker> asker;
  if (found.user.uid != own->uid || found.user.gid != own->gid) {
    asker = fs::Asker{.uid = found.user.uid, .gid = found.user.gid, .groups = found.user.groups};
  }
  co_return UserContext{.session = std::move(session),
                        .tree = std::move(tree),
                        .user = std::move(found.user),
                        .asker = std::move(asker),
                        .base = std::move(found.base)};
}

}  // namespace skiff::runtime::dialects::e2b
