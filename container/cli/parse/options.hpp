#pragma once

#include <string>
#include <vector>

#include "base/settings/settings.hpp"
#include "container/kube/auth/access.hpp"

namespace skiff::container {

/// The options of every command.
struct Options {
  std::string driver = "auto";
  std::string output = "table";
  std::string owner;  ///< default: user@host
  std::string config;
  bool quiet = false;
  bool log_requests = false;
  std::string sandbox = {};  ///< the first sandbox that the command line names; no flag sets it

  // A running agent, or a `skiff serve`.
  std::string url = {};
  bool has_driver_flag = false;  ///< `driver` was given on the command line
  bool has_url_flag =
      false;  ///< `url` was given on the command line; the variable does not apply to agents in a cluster
  std::string token = {};
  std::string token_file = {};
  std::string key_file = {};
  std::string sandbox_id = {};
  std::string agent_certificate_authority = {};
  std::string agent_server_name = {};
  std::string api_key = {};
  std::string api_key_file = {};

  // The cluster, and how to reach it and its agents.
  kube::AccessOptions access = {};
  std::string name_prefix = "skiff-";
  std::string reach = "auto";
  std::string gateway_url;
  std::string gateway;
  std::string gateway_token;
};

/// True if an option names a cluster, or a way to reach its agents.
[[nodiscard]] bool names_a_cluster(const Options& options);
/// True if the options contain the address of an agent and a credential for it.
[[nodiscard]] bool names_an_agent(const Options& options);
/// True if the options contain the address of a `skiff serve` and an API key.
[[nodiscard]] bool names_a_server(const Options& options);

/// Rows point into `options`.
[[nodiscard]] std::vector<Setting> option_rows(Options& options);

/// user@host, as far as these are known.
[[nodiscard]] std::string default_owner();

}  // namespace skiff::container
