#pragma once

#include <string>
#include <utility>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "base/async/deadline.hpp"
#include "container/cluster/rbac.hpp"
#include "tests/kubernetes/cluster.hpp"

/// Users with just these rights, in the tests' cluster.
namespace skiff::test {

inline constexpr kube::Resource kRoles{"rbac.authorization.k8s.io", "v1", "roles", "Role"};
inline constexpr kube::Resource kRoleBindings{"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"};

/// As somebody whom nobody has given anything yet.
inline kube::Client connect_as_user(Executor executor, const std::string& user) {
  kube::Access access = access_as("admin");
  access.identity.impersonate = user;
  access.identity.impersonate_groups = {"system:authenticated"};
  return connect(executor, std::move(access));
}

/// Gives `user` these rights in one namespace, and waits until they count.
inline Task<> grant(kube::Client* admin, std::vector<container::ApiRule> rules, std::string namespace_name,
                    std::string user) {
  const auto objects = container::role_objects(rules, {.name = user, .namespace_name = namespace_name});
  kube::Object role{objects.at(0)};
  auto made = co_await admin->create(kRoles, std::move(role));
  if (!made) ADD_FAILURE() << made.error().error.message;
  kube::Object binding = kube::Object::make(kRoleBindings, namespace_name, user);
  binding.json["roleRef"] = {{"apiGroup", kRoles.group}, {"kind", "Role"}, {"name", user}};
  binding.json["subjects"] = nlohmann::json::array({{{"apiGroup", kRoles.group}, {"kind", "User"}, {"name", user}}});
  made = co_await admin->create(kRoleBindings, std::move(binding));
  if (!made) ADD_FAILURE() << made.error().error.message;
  // The authorizer reads them from a cache, which is a moment behind.
  kube::Client client = connect_as_user(co_await boost::asio::this_coro::executor, user);
  const container::ApiRule& last = rules.back();
  const std::size_t slash = last.resource.find('/');
  for (;;) {
    kube::Permission permission{.verb = *last.verbs.begin(),
                                .group = last.group,
                                .resource = last.resource.substr(0, slash),
                                .subresource = slash == std::string::npos ? "" : last.resource.substr(slash + 1),
                                .namespace_name = namespace_name,
                                .name = last.name};
    auto allowed = co_await client.allowed(std::move(permission));
    if (!allowed) ADD_FAILURE() << allowed.error().error.message;
    if (!allowed || *allowed) co_return;
    co_await pause(std::chrono::milliseconds{5});
  }
}

}  // namespace skiff::test
