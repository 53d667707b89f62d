#pragma once

#include <string>
#include <vector>

#include "base/settings.hpp"
#include "container/kube/access.hpp"

namespace skiff::container {

/// What every command takes.
struct Options {
  std::string driver = "auto";
  std::string output = "table";
  std::string owner;  ///< default: user@host
  std::string config;
  bool quiet = false;

  // Which cluster, and how to reach it and what is in it.
  kube::AccessOptions access = {};
  std::string name_prefix = "skiff-";
  std::string reach = "auto";
  std::string url;
  std::string gateway_url;
  std::string gateway;
  std::string gateway_token;
  std::string agent_certificate_authority;
  std::string agent_server_name;
};

/// Rows point into `options`.
[[nodiscard]] std::vector<Setting> option_rows(Options& options);

/// user@host, as far as they are known.
[[nodiscard]] std::string default_owner();

}  // namespace skiff::container
