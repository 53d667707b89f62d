#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/settings/settings.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// The flags for ending sandboxes: the grace period, and how long to wait. It must outlive the rows.
class RemovalFlags {
 public:
  /// `grace_letter` is the short form of --grace-period; 0: none.
  [[nodiscard]] std::vector<Setting> rows(char grace_letter = 0);
  /// `invalid_field` for a --wait that is neither a time nor true or false, and for a grace that is not a time.
  [[nodiscard]] Result<Removal> removal() const;

 private:
  std::string grace_;
  bool force_ = false;
  std::string wait_;
};

}  // namespace skiff::container
