#pragma once

#include <string>
#include <utility>
#include <vector>

#include "container/cluster/egress/secret_objects.hpp"
#include "container/egress/terminate/authority.hpp"

namespace skiff::container::egress::fakes {

/// The Secret of a secret for these hosts, with an authority of its own.
inline kube::Object kept_secret(const std::string& name, const std::vector<std::string>& hosts,
                                std::string value = "0123456789") {
  const auto authority = Authority::create(hosts).value();
  return egress_secret_object(
      {.secret =
           {.name = name, .hosts = hosts, .header = "Authorization", .format = "Bearer {}", .value = std::move(value)},
       .ca_pem = authority->pem(),
       .key_pem = authority->key_pem()},
      "team-a");
}

}  // namespace skiff::container::egress::fakes
