#include "container/kube/api_proxy.hpp"

#include "container/kube/objects/resource.hpp"

namespace skiff::kube {

std::string proxy_path(std::string_view namespace_name, std::string_view pod, std::uint16_t port) {
  // The colon is part of the syntax, so the name is not encoded; its characters need no encoding.
  return collection_path(kPods, namespace_name) + "/" + std::string{pod} + ":" + std::to_string(port) + "/proxy";
}

}  // namespace skiff::kube
