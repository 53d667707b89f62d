#pragma once

#include <string>
#include <utility>

#include "container/serve/fleet/fleet.hpp"

namespace skiff::container::serve {

/// Tells those who follow the list that a sandbox may have changed, before the change and after it.
class Fleet::Change {
 public:
  Change(const Fleet* fleet, std::string tenant, std::string id)
      : fleet_{fleet}, tenant_{std::move(tenant)}, id_{std::move(id)} {
    tell();
  }
  ~Change() { tell(); }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  void tell() const {
    if (fleet_->changes_) fleet_->changes_(tenant_, id_);
  }

  const Fleet* fleet_;
  std::string tenant_;
  std::string id_;
};

}  // namespace skiff::container::serve
