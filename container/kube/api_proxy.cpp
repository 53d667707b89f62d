#include "container/kube/api_proxy.hpp"

#include <utility>

#include "container/kube/resource.hpp"

namespace skiff::kube {

std::string proxy_path(const ApiProxy::Destination& destination) {
  const Resource& resource = destination.kind == ApiProxy::Destination::Kind::pod ? kPods : kServices;
  // The colons are part of the form, so the name is not encoded; what it may hold needs none.
  return collection_path(resource, destination.namespace_name) + "/" + (destination.tls ? "https:" : "") +
         destination.name + ":" + std::to_string(destination.port) + "/proxy";
}

ApiProxy::ApiProxy(Transport* transport, const Destination& destination, std::string agent_token)
    : transport_{transport},
      prefix_{transport->access().server.path + proxy_path(destination)},
      agent_token_{std::move(agent_token)} {}

Task<Result<protocol::HttpClient::Request>> ApiProxy::wrap(protocol::HttpClient::Request request) {
  auto ours = co_await transport_->headers();
  if (!ours) co_return std::unexpected{std::move(ours.error())};
  request.target = prefix_ + request.target;
  request.headers.remove("Authorization");
  request.headers.append(*ours);
  if (!agent_token_.empty()) request.headers.set("X-Skiff-Token", agent_token_);
  co_return request;
}

}  // namespace skiff::kube
