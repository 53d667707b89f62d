#include "sessions/registry.hpp"

#include <algorithm>
#include <filesystem>

#include "base/id.hpp"
#include "sessions/own_root.hpp"

namespace skiff::sessions {

Registry::Registry(Supervisor& supervisor, Session::Ground ground)
    : supervisor_{supervisor},
      ground_{std::move(ground)},
      ledger_{supervisor.limits.remembered_ids, supervisor.limits.remember_ids_for} {
  SessionSpec spec;
  spec.id = kDefault;
  (void)make(std::move(spec), ground_.root);
}

Result<std::string> Registry::resolve_root(const SessionSpec& spec) const {
  if (!spec.root) return ground_.root;
  if (spec.root->find('\0') != std::string::npos) return fail(Errc::invalid_field, "root holds a NUL byte", "/root");
  const std::filesystem::path ground{ground_.root};
  const auto path = (ground / *spec.root).lexically_normal();
  const auto relative = path.lexically_relative(ground);
  if (relative.empty() || *relative.begin() == "..") {
    return fail(Errc::invalid_field, "root must lie below the agent's root \"" + ground_.root + '"', "/root");
  }
  if (relative == ".") return ground_.root;
  auto root = make_own_root(ground_.root, relative.string());
  if (!root) {
    root.error().message = "make the session's root: " + root.error().message;
    root.error().field = "/root";
  }
  return root;
}

Result<std::shared_ptr<Session>> Registry::create(SessionSpec spec) {
  if (spec.id.empty()) spec.id = new_id("s-");
  if (!is_valid_id(spec.id))
    return fail(Errc::invalid_id, "a session id must match [A-Za-z0-9][A-Za-z0-9._-]{0,63}", "/id");
  if (sessions_.contains(spec.id)) return fail(Errc::session_conflict, "session \"" + spec.id + "\" exists", "/id");
  if (sessions_.size() >= supervisor_.limits.sessions) {
    return fail(Errc::too_many_sessions,
                std::to_string(sessions_.size()) + " sessions exist, which is the limit (--max-sessions)");
  }
  if (auto possible = supervisor_.cgroups.check(spec.limits); !possible) return std::unexpected{possible.error()};
  if (spec.user) {
    if (auto user = look_up_user(*spec.user); !user) return std::unexpected{user.error()};
  }
  if (auto offered = check_offered(spec.isolation); !offered) return std::unexpected{offered.error()};
  std::vector<Ruleset::Ground> grounds;
  for (const ExtraRoot& extra : spec.extra_roots) {
    std::error_code error;
    if (!std::filesystem::is_directory(extra.path, error)) {
      return fail(Errc::path_not_found, '"' + extra.path + "\" is not a folder", "/extra_roots");
    }
    grounds.push_back({.folder = extra.path, .writable = extra.access == RootAccess::rw});
  }
  auto root = resolve_root(spec);
  if (!root) return std::unexpected{root.error()};
  grounds.push_back({.folder = *root, .writable = true});
  auto rules = Ruleset::create(spec.isolation, grounds);
  if (!rules) return std::unexpected{std::move(rules.error())};
  return make(std::move(spec), std::move(*root), std::move(*rules));
}

Result<Registry::Put> Registry::put(SessionSpec spec) {
  if (const auto found = sessions_.find(spec.id); found != sessions_.end()) {
    if (found->second->asked_for() == spec) return Put{found->second, false};
    return fail(Errc::session_conflict, "session \"" + spec.id + "\" was created with another request", "/id");
  }
  auto created = create(std::move(spec));
  if (!created) return std::unexpected{created.error()};
  return Put{std::move(*created), true};
}

Result<std::shared_ptr<Session>> Registry::find(std::string_view id) const {
  if (!is_valid_id(id)) return fail(Errc::invalid_id, "a session id must match [A-Za-z0-9][A-Za-z0-9._-]{0,63}");
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second->closed()) {
    return fail(Errc::session_not_found, "no session \"" + std::string{id} + '"');
  }
  found->second->touch();
  return found->second;
}

std::vector<std::shared_ptr<Session>> Registry::all() const {
  std::vector<std::shared_ptr<Session>> list;
  for (const auto& [id, session] : sessions_) list.push_back(session);
  return list;
}

std::vector<std::shared_ptr<Session>> Registry::sessions() const {
  std::vector<std::shared_ptr<Session>> list;
  list.reserve(sessions_.size());
  for (const auto& [id, session] : sessions_) {
    if (!session->closed()) list.push_back(session);
  }
  return list;
}

Task<Result<>> Registry::erase(std::string id, bool purge) {
  auto found = find(id);
  if (!found) co_return std::unexpected{found.error()};
  const std::shared_ptr<Session> session = *found;
  if (id == kDefault) co_return fail(Errc::session_protected, "the default session can't be deleted");
  if (purge && session->root() == ground_.root) {
    co_return fail(Errc::invalid_field,
                   "only a session with a root of its own can be purged: \"" + id + "\" uses the agent's", "purge");
  }
  co_await session->close(Cause::session_deleted);
  sessions_.erase(id);
  if (purge) {
    auto remove = [ground = ground_.root, root = session->root()] { return remove_own_root(ground, root); };
    auto removed = co_await supervisor_.long_work.run(std::move(remove));
    if (!removed) co_return removed;
  }
  co_return Result<>{};
}

Task<> Registry::drain() {
  const auto all = sessions();
  for (const auto& session : all) {
    for (const auto& command : session->commands()) command->end(Cause::shutdown);
  }
  for (const auto& session : all) co_await session->close(Cause::shutdown);
}

std::shared_ptr<Session> Registry::make(SessionSpec spec, std::string root, std::shared_ptr<const Ruleset> rules) {
  std::string id = spec.id;
  auto on_idle = [this, id] { supervisor_.tasks.spawn("idle session", expire(id)); };
  auto session = std::make_shared<Session>(supervisor_, ledger_, ground_, std::move(spec), std::move(root),
                                           std::move(rules), std::move(on_idle));
  sessions_.emplace(std::move(id), session);
  return session;
}

Task<> Registry::expire(std::string id) {
  (void)co_await erase(std::move(id), false);
}

}  // namespace skiff::sessions
