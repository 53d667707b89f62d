#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skiff::container::box {

/// The steps that make a box, in their order (the words of `step_word`).
enum class Step : std::uint8_t {
  plan,        ///< read the plan
  group,       ///< enter the control groups
  user,        ///< become the user of the box, as root
  tree,        ///< copy a mount of this machine
  clone,       ///< create the namespaces
  map,         ///< write the map of ids
  network,     ///< join the network of this machine
  hostname,    ///< set the name of the host
  loopback,    ///< set the loopback interface up
  root,        ///< mount the root directory
  bind,        ///< attach what the box sees of this machine
  workspace,   ///< mount the workspace
  proc,        ///< mount /proc
  devices,     ///< create /dev
  pivot,       ///< change the root directory
  limits,      ///< set the limits of the box
  privileges,  ///< give up all privileges
  landlock,    ///< restrict file accesses
  filter,      ///< filter system calls
  exec,        ///< run skiffd
};

[[nodiscard]] std::string_view step_word(Step step) noexcept;

/// Why a box could not be made, as `skiff box-init` reports it.
struct Refusal {
  Step step = Step::plan;
  int error = 0;      ///< errno
  std::string what;   ///< the path or option, if there is one
  std::string label;  ///< the security label of the process (AppArmor); empty if there is none

  bool operator==(const Refusal&) const = default;
};

/// The line that `skiff box-init` prints for a refusal, with its newline; and its reader, nullopt for any other line.
[[nodiscard]] std::string refusal_line(const Refusal& refusal);
[[nodiscard]] std::optional<Refusal> parse_refusal(std::string_view line);

/// The line that names the process of a box that was created, by its pid on this machine.
[[nodiscard]] std::string created_line(std::int32_t pid);
[[nodiscard]] std::optional<std::int32_t> parse_created(std::string_view line);

/// What `skiff box-init` prints when a trial has passed.
inline constexpr std::string_view kPassedLine = "box passed\n";

}  // namespace skiff::container::box
