#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

/// Protocols of other systems that an agent speaks beside its own on request (docs/clients.md): the facts that drivers
/// need to make them reachable.
namespace skiff::container {

/// A port on which clients expect a dialect.
struct DialectPort {
  std::string_view name;  ///< name for a port of a container or Service: at most 15 characters (RFC 6335, section 5.1)
  std::uint16_t number;
};

struct Dialect {
  std::string_view name;  ///< value of --dialect of skiff and skiffd
  std::span<const DialectPort> ports;
};

inline constexpr std::string_view kE2bName = "e2b";
inline constexpr std::uint16_t kE2bPort = 49'983;
/// Where E2B's clients look for the code interpreter, which the same dialect serves on `kE2bPort`.
inline constexpr std::uint16_t kE2bCodePort = 49'999;
inline constexpr std::array kE2bPorts{DialectPort{.name = "e2b", .number = kE2bPort}};
inline constexpr std::array kKubeboxPorts{DialectPort{.name = "kubebox", .number = 80}};
inline constexpr std::array kPythonRuntimePorts{DialectPort{.name = "python-runtime", .number = 8888}};
inline constexpr std::array kSandboxdPorts{DialectPort{.name = "sandboxd-rest", .number = 8080},
                                           DialectPort{.name = "sandboxd-grpc", .number = 9090}};

/// THE table of the dialects that a sandbox can have. Its names and ports are those of skiffd's own table, from which
/// docs/dialects/ports.md is generated; a test of each table compares it with that page.
inline constexpr std::array kDialects{
    Dialect{.name = kE2bName, .ports = kE2bPorts},
    Dialect{.name = "kubebox", .ports = kKubeboxPorts},
    Dialect{.name = "python-runtime", .ports = kPythonRuntimePorts},
    Dialect{.name = "sandboxd", .ports = kSandboxdPorts},
};
inline constexpr auto kDialectNames = [] {
  std::array<std::string_view, kDialects.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kDialects[i].name;
  return names;
}();

/// The ports of these dialects, in that order. `invalid_field` (--dialect) for a name that is not in the table, or is
/// given twice.
[[nodiscard]] Result<std::vector<DialectPort>> ports_of_dialects(const std::vector<std::string>& names);

/// `known`: the ports that clients expect. `free`: ports that the kernel chooses, on a machine with other sandboxes.
enum class PortNumbers : std::uint8_t { known, free };
/// The value for skiffd's --dialect and SKIFF_DIALECT: all ports of the dialect on `host`. `name` must be in the table.
[[nodiscard]] std::string dialect_setting(std::string_view name, std::string_view host, PortNumbers numbers);

}  // namespace skiff::container
