#pragma once

#include <array>
#include <tuple>

#include "protocol/json/schema.hpp"
#include "sessions/command.hpp"
#include "sessions/session.hpp"

/// The JSON of types of the sessions layer, which itself has no JSON.
namespace skiff::protocol {

template <>
struct Schema<sessions::ResourceLimits> {
  using T = sessions::ResourceLimits;
  static constexpr std::string_view kSchemaName = "ResourceLimits";
  static constexpr auto fields = std::tuple{
      field("memory_bytes", &T::memory_bytes, "Memory of the whole tree; needs a writable cgroup v2", {.minimum = 1}),
      field("pids", &T::pids, "Processes and threads of the whole tree; needs a writable cgroup v2", {.minimum = 1}),
      field("cpu_millis", &T::cpu_millis, "Thousandths of a core; needs a writable cgroup v2", {.minimum = 1}),
      field("cpu_time_ms", &T::cpu_time_ms, "CPU time of each process, rounded up to seconds (RLIMIT_CPU)",
            {.minimum = 1}),
      field("open_files", &T::open_files, "Open descriptors of each process (RLIMIT_NOFILE)",
            {.minimum = 3, .maximum = 1 << 20}),
      field("file_size_bytes", &T::file_size_bytes, "Size of a file that a process writes (RLIMIT_FSIZE)",
            {.minimum = 0}),
  };
};

template <>
struct Schema<sessions::TerminalSize> {
  using T = sessions::TerminalSize;
  static constexpr std::string_view kSchemaName = "TerminalSize";
  static constexpr auto fields = std::tuple{
      field("cols", &T::cols, "Columns; default: 80, or the terminal's",
            {.minimum = 1, .maximum = 10000, .optional = true}),
      field("rows", &T::rows, "Rows; default: 24, or the terminal's",
            {.minimum = 1, .maximum = 10000, .optional = true}),
  };
};

template <>
struct EnumNames<sessions::Overflow> {
  using E = sessions::Overflow;
  static constexpr std::string_view kSchemaName = "OverflowPolicy";
  static constexpr std::array values{EnumName{E::automatic, "auto"}, EnumName{E::drop, "drop"},
                                     EnumName{E::block, "block"}, EnumName{E::kill, "kill"}};
};

template <>
struct EnumNames<sessions::Target> {
  using E = sessions::Target;
  static constexpr std::string_view kSchemaName = "SignalTarget";
  static constexpr std::array values{EnumName{E::leader, "leader"}, EnumName{E::group, "group"},
                                     EnumName{E::tree, "tree"}};
};

template <>
struct EnumNames<sessions::Isolation> {
  using E = sessions::Isolation;
  static constexpr std::string_view kSchemaName = "Isolation";
  static constexpr std::array values{EnumName{E::none, "none"}, EnumName{E::protect, "protect"},
                                     EnumName{E::landlock, "landlock"}};
};

template <>
struct EnumNames<sessions::RootAccess> {
  using E = sessions::RootAccess;
  static constexpr std::string_view kSchemaName = "RootAccess";
  static constexpr std::array values{EnumName{E::rw, "rw"}, EnumName{E::ro, "ro"}};
};

}  // namespace skiff::protocol
