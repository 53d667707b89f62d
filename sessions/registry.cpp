#include "sessions/registry.hpp"

#include <algorithm>
#include <filesystem>

#include <boost/asio/post.hpp>

#include "base/id.hpp"
#include "sessions/own_root.hpp"

namespace skiff::sessions {

namespace {

Result<std::string> resolve_root(const std::string& ground_root, const SessionSpec& spec) {
  if (!spec.root) return ground_root;
  if (spec.root->find('\0') != std::string::npos) return fail(Errc::invalid_field, "root holds a NUL byte", "/root");
  const std::filesystem::path ground{ground_root};
  const auto path = (ground / *spec.root).lexically_normal();
  const auto relative = path.lexically_relative(ground);
  if (relative.empty() || *relative.begin() == "..") {
    return fail(Errc::invalid_field, "root must lie below the agent's root \"" + ground_root + '"', "/root");
  }
  if (relative == ".") return ground_root;
  auto root = make_own_root(ground_root, relative.string());
  if (!root) {
    root.error().message = "make the session's root: " + root.error().message;
    root.error().field = "/root";
  }
  return root;
}

}  // namespace

Registry::Registry(Supervisor& supervisor, Session::Ground ground)
    : supervisor_{supervisor},
      ground_{std::move(ground)},
      ledger_{supervisor.limits.remembered_ids, supervisor.limits.remember_ids_for} {
  SessionSpec spec;
  spec.id = kDefault;
  (void)make(std::move(spec), ground_.root);
}

Result<> Registry::check(const SessionSpec& spec) const {
  if (!is_valid_id(spec.id))
    return fail(Errc::invalid_id, "a session id must match [A-Za-z0-9][A-Za-z0-9._-]{0,63}", "/id");
  if (sessions_.contains(spec.id)) return fail(Errc::session_conflict, "session \"" + spec.id + "\" exists", "/id");
  if (sessions_.size() >= supervisor_.limits.sessions) {
    return fail(Errc::too_many_sessions,
                std::to_string(sessions_.size()) + " sessions exist, which is the limit (--max-sessions)");
  }
  if (auto possible = supervisor_.cgroups.check(spec.limits); !possible) return possible;
  return check_offered(spec.isolation);
}

Result<Registry::Place> Registry::make_place(const std::string& ground, const SessionSpec& spec) {
  if (spec.user) {
    if (auto user = look_up_user(*spec.user); !user) return std::unexpected{user.error()};
  }
  std::vector<Ruleset::Ground> grounds;
  for (const ExtraRoot& extra : spec.extra_roots) {
    std::error_code error;
    if (!std::filesystem::is_directory(extra.path, error)) {
      return fail(Errc::path_not_found, '"' + extra.path + "\" is not a folder", "/extra_roots");
    }
    grounds.push_back({.folder = extra.path, .writable = extra.access == RootAccess::rw});
  }
  auto root = resolve_root(ground, spec);
  if (!root) return std::unexpected{root.error()};
  grounds.push_back({.folder = *root, .writable = true});
  auto rules = Ruleset::create(spec.isolation, grounds);
  if (!rules) return std::unexpected{std::move(rules.error())};
  return Place{std::move(*root), std::move(*rules)};
}

Task<Result<std::shared_ptr<Session>>> Registry::create(SessionSpec spec) {
  if (spec.id.empty()) spec.id = new_id("s-");
  if (auto possible = check(spec); !possible) co_return std::unexpected{possible.error()};
  auto make_it = [&] { return make_place(ground_.root, spec); };
  auto place = co_await supervisor_.disk.run(std::move(make_it));
  if (!place) co_return std::unexpected{place.error()};
  // Another one may have come meanwhile.
  if (auto possible = check(spec); !possible) co_return std::unexpected{possible.error()};
  co_return make(std::move(spec), std::move(place->root), std::move(place->rules));
}

Task<Result<Registry::Put>> Registry::put(SessionSpec spec) {
  SessionSpec asked = spec;
  Result<std::shared_ptr<Session>> created = fail(Errc::session_conflict, {});
  if (!sessions_.contains(spec.id)) created = co_await create(std::move(spec));
  if (created) co_return Put{std::move(*created), true};
  const auto found = sessions_.find(asked.id);
  if (created.error().code != Errc::session_conflict || found == sessions_.end()) {
    co_return std::unexpected{created.error()};
  }
  if (found->second->asked_for() == asked) co_return Put{found->second, false};
  co_return fail(Errc::session_conflict, "session \"" + asked.id + "\" was created with another request", "/id");
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
  // Not from the session's own timer, which goes with it.
  co_await boost::asio::post(supervisor_.executor, use_task);
  (void)co_await erase(std::move(id), false);
}

}  // namespace skiff::sessions
