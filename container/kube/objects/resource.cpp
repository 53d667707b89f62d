#include "container/kube/objects/resource.hpp"

#include "protocol/http/target.hpp"

namespace skiff::kube {

std::string Resource::api_version() const {
  return group.empty() ? std::string{version} : std::string{group} + "/" + std::string{version};
}

std::string Resource::name() const {
  return group.empty() ? std::string{plural} : std::string{plural} + "." + std::string{group};
}

std::string collection_path(const Resource& resource, std::string_view namespace_name) {
  std::string path = (resource.group.empty() ? "/api/" : "/apis/") + resource.api_version();
  if (resource.namespaced && !namespace_name.empty()) {
    path += "/namespaces/" + protocol::percent_encode(namespace_name);
  }
  return path + "/" + std::string{resource.plural};
}

std::string object_path(const Resource& resource, std::string_view namespace_name, std::string_view name,
                        std::string_view subresource) {
  std::string path = collection_path(resource, namespace_name) + "/" + protocol::percent_encode(name);
  if (!subresource.empty()) path += "/" + std::string{subresource};
  return path;
}

Query& Query::add(std::string_view name, std::string_view value) {
  if (value.empty()) return *this;
  text_ += text_.empty() ? '?' : '&';
  text_ += name;
  text_ += '=';
  text_ += protocol::percent_encode(value);
  return *this;
}

}  // namespace skiff::kube
