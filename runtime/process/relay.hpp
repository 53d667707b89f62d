#pragma once

#include <cstdint>
#include <span>

namespace skiff::runtime {

/// Carries bytes between `input`, `output` and a connected socket, each direction until its own end. Returns false when
/// a direction broke off.
[[nodiscard]] bool carry_both_ways(int input, int output, int socket);

/// `skiffd relay PORT`: connects standard input and output to a port of 127.0.0.1, for a launcher that reaches this
/// container only by running programs in it. Returns the exit status; the reason for a failure is on stderr.
[[nodiscard]] int relay(std::span<const char* const> arguments);

}  // namespace skiff::runtime
