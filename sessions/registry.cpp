#include "sessions/registry.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/id.hpp"
#include "base/log/log.hpp"
#include "sessions/own_root.hpp"

namespace skiff::sessions {

namespace {

std::string being_deleted(const std::string& id) {
  return "session \"" + id + "\" is being deleted: create it again when its commands have ended";
}

/// The path of a session's root below the agent's root; "." when they are the same.
Result<std::string> relative_root(const std::string& agent_root_path, const SessionSpec& spec) {
  if (!spec.root) return ".";
  if (spec.root->find('\0') != std::string::npos) return fail(Errc::invalid_field, "root holds a NUL byte", "/root");
  const std::filesystem::path agent_root{agent_root_path};
  const auto path = (agent_root / *spec.root).lexically_normal();
  auto relative = path.lexically_relative(agent_root);
  if (relative.empty() || *relative.begin() == "..") {
    return fail(Errc::invalid_field, "root must lie below the agent's root \"" + agent_root_path + '"', "/root");
  }
  return relative.string();
}

Result<std::vector<UniqueFd>> open_extra_roots(const SessionSpec& spec) {
  std::vector<UniqueFd> directories;
  for (const ExtraRoot& extra : spec.extra_roots) {
    directories.emplace_back(::open(extra.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directories.back()) {
      Error error = system_error(errno, "open the extra root \"" + extra.path + '"');
      error.field = "/extra_roots";
      return std::unexpected{std::move(error)};
    }
  }
  return directories;
}

}  // namespace

Registry::Registry(Supervisor& supervisor, Session::Defaults defaults)
    : supervisor_{supervisor},
      defaults_{std::move(defaults)},
      ledger_{supervisor.limits.remembered_ids, supervisor.limits.remember_ids_for},
      forgotten_{supervisor.executor} {
  // Open the root once: a command that may write to its parent directory could replace it later.
  if (auto tree = fs::Tree::open({.path = defaults_.root})) {
    defaults_.tree = std::make_shared<const fs::Tree>(std::move(*tree));
  } else {
    defaults_.no_tree = std::move(tree.error());
    defaults_.no_tree->message = "the agent's root could not be opened at its start: " + defaults_.no_tree->message;
    log::error("there are no files for clients", {{"error", defaults_.no_tree->message}});
  }
  SessionSpec spec;
  spec.id = kDefault;
  (void)make(std::move(spec), {.path = defaults_.root, .tree = nullptr, .rules = nullptr});
}

Result<> Registry::check(const SessionSpec& spec) const {
  if (!is_valid_id(spec.id))
    return fail(Errc::invalid_id, "a session id must match [A-Za-z0-9][A-Za-z0-9._-]{0,63}", "/id");
  if (const auto found = sessions_.find(spec.id); found != sessions_.end()) {
    return fail(Errc::session_conflict,
                found->second->closed() ? being_deleted(spec.id) : "session \"" + spec.id + "\" exists", "/id");
  }
  if (sessions_.size() >= supervisor_.limits.sessions) {
    return fail(Errc::too_many_sessions,
                std::to_string(sessions_.size()) + " sessions exist, which is the limit (--max-sessions)");
  }
  SKIFF_TRY_VOID(supervisor_.processes.cgroups.check(spec.limits));
  return check_offered(spec.isolation);
}

Result<Session::Root> Registry::open_root(std::shared_ptr<const fs::Tree> agents_tree,
                                          const std::optional<Error>& no_tree, const std::string& agent_root,
                                          const SessionSpec& spec) {
  if (spec.user) {
    SKIFF_TRY_VOID(look_up_user(*spec.user));
  }
  SKIFF_TRY(auto extra, open_extra_roots(spec));
  SKIFF_TRY(auto relative, relative_root(agent_root, spec));
  SKIFF_TRY(auto tree, living(std::move(agents_tree), no_tree));
  Session::Root root{.path = agent_root, .tree = nullptr, .rules = nullptr};
  if (relative != "." || !extra.empty()) {
    OwnRoot own{.path = agent_root, .directory = {}};
    if (relative != ".") {
      auto made = create_own_root(*tree, agent_root, relative);
      if (!made) {
        made.error().message = "make the session's root: " + made.error().message;
        made.error().field = "/root";
        return std::unexpected{std::move(made.error())};
      }
      own = std::move(*made);
    }
    std::vector<fs::Root> roots;
    for (std::size_t i = 0; i < extra.size(); ++i) {
      const ExtraRoot& one = spec.extra_roots[i];
      roots.push_back({.path = one.path,
                       .access = one.access == RootAccess::rw ? fs::Access::read_write : fs::Access::read_only,
                       .directory = extra[i].get()});
    }
    const int directory = own.directory ? own.directory.get() : tree->roots().front().fd.get();
    SKIFF_TRY(auto opened, fs::Tree::open({.path = own.path, .access = fs::Access::read_write, .directory = directory},
                                          std::move(roots)));
    root.path = std::move(own.path);
    root.tree = std::make_shared<const fs::Tree>(std::move(opened));
  }
  SKIFF_TRY(root.rules, Ruleset::create(spec.isolation, root.tree ? *root.tree : *tree));
  return root;
}

Task<Result<std::shared_ptr<Session>>> Registry::create(SessionSpec spec) {
  if (spec.id.empty()) spec.id = new_id("s-");
  SKIFF_CO_TRY_VOID(check(spec));
  auto open_it = [&, tree = defaults_.tree] { return open_root(tree, defaults_.no_tree, defaults_.root, spec); };
  SKIFF_CO_TRY(auto opened, co_await supervisor_.disk.run(std::move(open_it)));
  SessionSpec wanted = spec;
  std::string root = opened.path;
  auto rules = opened.rules;
  SKIFF_CO_TRY_VOID(co_await trial_.pass(std::move(wanted), std::move(root), std::move(rules)));
  // Another request may have created the session meanwhile.
  SKIFF_CO_TRY_VOID(check(spec));
  co_return make(std::move(spec), std::move(opened));
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
  if (found->second->closed()) co_return fail(Errc::session_conflict, being_deleted(asked.id), "/id");
  if (found->second->asked_for() == asked) co_return Put{found->second, false};
  co_return fail(Errc::session_conflict, "session \"" + asked.id + "\" was created with another request", "/id");
}

Result<std::shared_ptr<Session>> Registry::find(std::string_view id) const {
  if (!is_valid_id(id)) return fail(Errc::invalid_id, "a session id must match [A-Za-z0-9][A-Za-z0-9._-]{0,63}");
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) {
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
  SKIFF_CO_TRY(const auto session, find(id));
  if (id == kDefault) co_return fail(Errc::session_protected, "the default session cannot be deleted");
  if (purge && session->root() == defaults_.root) {
    co_return fail(Errc::invalid_field,
                   "only a session with its own root can be purged: \"" + id + "\" uses the agent's", "purge");
  }
  // The session is deleted even if the caller is cancelled.
  supervisor_.tasks.spawn("session's end", forget(session));
  while (is_there(*session)) co_await forgotten_.wait();
  if (purge) {
    auto remove = [tree = defaults_.tree, why = defaults_.no_tree, agent_root = defaults_.root,
                   root = session->root()]() -> Result<> {
      SKIFF_TRY(auto outer, living(tree, why));
      return remove_own_root(*outer, agent_root, root);
    };
    auto removed = co_await supervisor_.long_work.run(std::move(remove));
    if (!removed) co_return removed;
  }
  co_return Result<>{};
}

bool Registry::is_there(const Session& session) const {
  const auto found = sessions_.find(session.id());
  return found != sessions_.end() && found->second.get() == &session;
}

Task<> Registry::forget(std::shared_ptr<Session> session) {
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  co_await session->close(Cause::session_deleted);
  if (is_there(*session)) sessions_.erase(session->id());
  log::debug("session deleted", {{"session", session->id()}});
  forgotten_.notify_all();
}

Task<> Registry::drain() {
  auto all = sessions();
  std::ranges::copy(trial_.close(), std::back_inserter(all));
  for (const auto& session : all) {
    for (const auto& command : session->commands()) command->end(Cause::shutdown);
  }
  for (const auto& session : all) co_await session->close(Cause::shutdown);
}

std::shared_ptr<Session> Registry::make(SessionSpec spec, Session::Root root) {
  std::string id = spec.id;
  auto on_idle = [this, id] { supervisor_.tasks.spawn("idle session", expire(id)); };
  auto session =
      std::make_shared<Session>(supervisor_, ledger_, defaults_, std::move(spec), std::move(root), std::move(on_idle));
  log::debug("session created", {{"session", id}, {"root", session->root()}});
  sessions_.emplace(std::move(id), session);
  return session;
}

Task<> Registry::expire(std::string id) {
  // Leave the session's own timer first: deleting the session destroys it.
  co_await boost::asio::post(supervisor_.executor, use_task);
  (void)co_await erase(std::move(id), false);
}

}  // namespace skiff::sessions
