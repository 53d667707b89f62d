#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "container/sandbox/sandbox.hpp"

namespace skiff::container::serve {

/// The size of a sandbox for clients; 0: not known.
struct Size {
  std::uint64_t cpus = 0;
  std::uint64_t memory_mb = 0;
  std::uint64_t disk_mb = 0;
};

/// The templates of sandboxes, by the names that clients use.
class Templates {
 public:
  /// The template of clients that name none.
  static constexpr std::string_view kBase = "base";

  /// `base` comes from the server's flags for new sandboxes. `further` is an object of NAME: {image, env, pod,
  /// aliases}, whose members replace those of `base`; null: none. Errors: invalid_field, also for a name that two have.
  [[nodiscard]] static Result<Templates> create(const SandboxSpec& base, const nlohmann::json& further);

  /// Gives the base template a further name, unless a template has it.
  void name_base(std::string_view name);

  /// The template's spec, without name, owner, labels and lease; null if there is none of this name.
  [[nodiscard]] const SandboxSpec* find(std::string_view name) const;
  /// "base, python"
  [[nodiscard]] std::string names() const;

 private:
  std::map<std::string, SandboxSpec, std::less<>> specs_;
};

/// The size by the limits of the Pod, or without a cluster by this machine.
[[nodiscard]] Size size_of(const SandboxSpec& spec, bool is_local);

}  // namespace skiff::container::serve
