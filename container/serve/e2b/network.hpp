#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

/// The network of a sandbox as E2B's clients ask for it: `network` of a new one, and the body of `PUT .../network`.
namespace skiff::container::serve::e2b {

struct WantedNetwork {
  enum class Kind : std::uint8_t {
    whole,    ///< the template's network
    nothing,  ///< no connection
    names,    ///< what `rules` names
  };
  Kind kind = Kind::whole;
  std::vector<std::string> rules = {};  ///< rules of egress by name
};

/// True if the field asks for something: null, {}, [] and false do not.
[[nodiscard]] bool asks(const nlohmann::json& value);

/// Reads allowOut and denyOut, and `allow_internet_access` beside them. `invalid_field` for what E2B refuses, too;
/// `not_supported` for addresses, and for every other field that asks for something.
[[nodiscard]] Result<WantedNetwork> wanted_network(const nlohmann::json& network, bool has_internet = true);

/// The rules for a running sandbox, whose template gives the whole network or none.
[[nodiscard]] std::vector<std::string> rules_for(const WantedNetwork& wanted, bool is_open);

}  // namespace skiff::container::serve::e2b
