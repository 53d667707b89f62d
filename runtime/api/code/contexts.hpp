#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/semaphore.hpp"
#include "base/async/task.hpp"
#include "base/error.hpp"
#include "base/shares.hpp"
#include "runtime/api/code/languages.hpp"
#include "runtime/api/requests.hpp"
#include "sessions/session.hpp"

namespace skiff::runtime {
struct Agent;
}

namespace skiff::runtime::api {

struct Caller;
struct CodeCall;
struct CodeEnd;
class CodeReader;
class CodeWorker;

/// Variables of one language that calls share: a worker, which is started at the first call and after its end.
class CodeContext : public std::enable_shared_from_this<CodeContext> {
 public:
  static constexpr std::size_t kMostWaiting = 64;  ///< calls at a time, shared by clients: one runs, the others wait

  /// How its workers are started: `argv` and `output` are set here.
  CodeContext(Executor executor, std::weak_ptr<sessions::Session> session, std::string id, const CodeLanguage& language,
              CommandRequest how, Shares::Part share);

  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  [[nodiscard]] const CodeLanguage& language() const noexcept { return language_; }
  [[nodiscard]] bool is_in(const sessions::Session& session) const { return session_.lock().get() == &session; }
  /// Its session was deleted.
  [[nodiscard]] bool is_orphan() const;
  /// The directory in which its workers start.
  [[nodiscard]] std::string cwd() const;
  /// The command of its worker; empty: none runs.
  [[nodiscard]] std::string command() const;

  /// Runs one call when it is its turn, with a new worker if none lives. Errors: resource_exhausted, context_not_found
  /// when it was deleted, those of `CodeWorker::start` and `CodeWorker::run`.
  [[nodiscard]] static Task<Result<CodeEnd>> run(std::shared_ptr<CodeContext> self, Agent* agent, const Caller* caller,
                                                 CodeCall call, CodeReader* to);

  /// Ends its worker, also while a call runs; the next call starts a new one.
  [[nodiscard]] static Task<> restart(std::shared_ptr<CodeContext> self);
  /// As `restart`; no call runs here any more.
  [[nodiscard]] static Task<> close(std::shared_ptr<CodeContext> self);

 private:
  /// A worker that takes a call; `fresh`: it was started for it.
  [[nodiscard]] static Task<Result<std::shared_ptr<CodeWorker>>> ready_worker(CodeContext* self, Agent* agent,
                                                                              const Caller* caller, bool* fresh);

  std::weak_ptr<sessions::Session> session_;
  std::string id_;
  const CodeLanguage& language_;
  CommandRequest how_;
  Shares::Part share_;
  Semaphore turn_;
  Shares waits_;
  std::shared_ptr<CodeWorker> worker_;  ///< one that has ended: no client knows that yet
  bool closed_ = false;
};

/// The contexts of all sessions. Each language has one in each session that is named like it and made when it is first
/// asked for; clients make others. Reactor thread only.
class CodeContexts {
 public:
  static constexpr std::size_t kMost = 256;  ///< of all clients; one of them has at most half

  using Pointer = std::shared_ptr<CodeContext>;
  explicit CodeContexts(Executor executor) : executor_{executor} {}

  /// Errors: language_unavailable, too_many_contexts.
  [[nodiscard]] Result<Pointer> create(std::shared_ptr<sessions::Session> session, std::string_view language,
                                       CommandRequest how, std::string_view holder);
  /// Errors: context_not_found.
  [[nodiscard]] Result<Pointer> find(const sessions::Session& session, std::string_view id);
  /// The context with this id, or else that of the language, among those whose names begin with `group`. Errors: those
  /// of `find` and `create`; invalid_request for both an id and a language.
  [[nodiscard]] Result<Pointer> pick(std::shared_ptr<sessions::Session> session, const std::optional<std::string>& id,
                                     const std::optional<std::string>& language, CommandRequest how,
                                     std::string_view holder, std::string_view group = {});
  /// The contexts of one session, oldest first.
  [[nodiscard]] std::vector<Pointer> of(const sessions::Session& session);
  void forget(const CodeContext& context);

 private:
  [[nodiscard]] Result<Pointer> make(std::shared_ptr<sessions::Session> session, std::string id,
                                     const CodeLanguage& language, CommandRequest how, std::string_view holder);

  Executor executor_;
  Shares shares_{kMost};
  std::list<Pointer> all_;
};

}  // namespace skiff::runtime::api
