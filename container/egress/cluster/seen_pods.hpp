#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "container/kube/objects/object.hpp"

namespace skiff::container::egress {

/// A Pod, as far as it matters to the egress proxy.
struct SeenPod {
  std::string name = {};
  std::string uid = {};
  std::vector<std::string> addresses = {};  ///< none once it is over: then they are free for others
  bool is_fenced = false;  ///< it may be served: it has the fence's label and its own network, and stays
  bool is_ready = false;
  std::string sandbox = {};  ///< name, for people
  std::string id = {};       ///< sandbox id
  std::string policy = {};   ///< the annotation with its rules
  std::string secrets = {};  ///< the annotation with its secrets, and the hosts for which it expects them

  [[nodiscard]] static SeenPod of(const kube::Object& pod);
};

/// The Pods of a namespace, by name and by address.
class SeenPods {
 public:
  void put(SeenPod pod);
  void erase(std::string_view name);
  [[nodiscard]] const SeenPod* find(std::string_view name) const;
  /// The Pod that has this address; null if none has it, and if several have it.
  [[nodiscard]] const SeenPod* at(std::string_view address) const;
  [[nodiscard]] std::set<std::string> names() const;

 private:
  std::map<std::string, SeenPod, std::less<>> pods_;
  std::map<std::string, std::set<std::string>, std::less<>> at_;
};

}  // namespace skiff::container::egress
