#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "container/kube/client.hpp"

namespace skiff::kube {

struct LogOptions {
  std::string container = {};  ///< needed when the pod has several
  bool previous = false;       ///< log of the run before the last restart
  bool timestamps = false;
  std::optional<std::uint64_t> tail_lines = {};
  std::optional<std::uint64_t> limit_bytes = {};
  std::optional<std::uint64_t> since_seconds = {};
};

/// The output of a container until now. A container that has not started is a failure (400), or an empty text.
[[nodiscard]] Task<Outcome<std::string>> read_log(Client* client, std::string namespace_name, std::string pod,
                                                  LogOptions options = {});

}  // namespace skiff::kube
