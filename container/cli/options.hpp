#pragma once

#include <string>
#include <vector>

#include "base/settings.hpp"
#include "container/kube/auth/access.hpp"

namespace skiff::container {

/// What every command takes.
struct Options {
  std::string driver = "auto";
  std::string output = "table";
  std::string owner;  ///< default: user@host
  std::string config;
  bool quiet = false;
  bool log_requests = false;

  // One agent that is there already, or a `skiff serve`.
  std::string url = {};
  bool has_driver_flag = false;  ///< `driver` is said on the command line
  bool has_url_flag = false;     ///< a variable is for an agent that is there, and leads to none in a cluster
  std::string token = {};
  std::string token_file = {};
  std::string key_file = {};
  std::string sandbox_id = {};
  std::string agent_certificate_authority = {};
  std::string agent_server_name = {};
  std::string api_key = {};
  std::string api_key_file = {};

  // Which cluster, and how to reach it and what is in it.
  kube::AccessOptions access = {};
  std::string name_prefix = "skiff-";
  std::string reach = "auto";
  std::string gateway_url;
  std::string gateway;
  std::string gateway_token;
};

/// Whether anything says which cluster is meant, or by which of its ways to go.
[[nodiscard]] bool names_a_cluster(const Options& options);
/// Whether it is said where an agent is, and as whom to speak to it.
[[nodiscard]] bool names_an_agent(const Options& options);
/// The same of a `skiff serve`.
[[nodiscard]] bool names_a_server(const Options& options);

/// Rows point into `options`.
[[nodiscard]] std::vector<Setting> option_rows(Options& options);

/// user@host, as far as they are known.
[[nodiscard]] std::string default_owner();

}  // namespace skiff::container
