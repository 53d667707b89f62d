#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "fs/path/tree.hpp"
#include "runtime/agent.hpp"
#include "runtime/dialects/e2b/access.hpp"
#include "runtime/dialects/e2b/files/watchers.hpp"
#include "runtime/dialects/e2b/process_table.hpp"
#include "runtime/dialects/http_dialect.hpp"

namespace skiff::runtime::dialects::e2b {

/// The dialect's state between requests. Reactor thread only.
struct State {
  using Files = Result<std::shared_ptr<const fs::Tree>>;

  explicit State(const Settings& settings) : access{digest_in(settings)}, files{files_in(settings)} {}
  /// The digest of the configured token; nothing: none is configured.
  [[nodiscard]] static std::optional<TokenDigest> digest_in(const Settings& settings) {
    if (settings.e2b_token_sha256.empty()) return std::nullopt;
    return *digest_from_hex(settings.e2b_token_sha256);
  }

  /// The whole file system with --e2b-home; nothing: the files of the session.
  [[nodiscard]] static std::optional<Files> files_in(const Settings& settings) {
    if (settings.e2b_home.empty()) return std::nullopt;
    auto tree = fs::Tree::open({.path = "/"});
    if (!tree) return std::unexpected{std::move(tree.error())};
    return std::make_shared<const fs::Tree>(std::move(*tree));
  }

  Access access;
  std::optional<Files> files;
  std::map<std::string, std::string> env;  ///< for the dialect's commands; an /init with variables replaces them
  std::string default_user;                ///< empty: the agent's
  std::string default_workdir;             ///< empty: the user's home
  ProcessTable processes;
  Watchers watchers;
  struct {
    std::uint64_t used_us = 0;
    SteadyTime at{};
  } cpu = {};  ///< at the last GET /metrics
};

/// A request while it is handled.
struct Call {
  Request& request;
  State& state;
  [[nodiscard]] Agent& agent() const noexcept { return request.agent; }
};

}  // namespace skiff::runtime::dialects::e2b
