#pragma once

#include <span>

namespace skiff::container::egress {

/// True for the words of `skiff egress probe`, which `skiff doctor --egress` gives to its two Pods.
[[nodiscard]] bool is_probe(std::span<const char* const> arguments);

/// `skiff egress probe fenced|open CANARY PROXY TARGET...`: connects to the addresses, and prints as JSON which of them
/// have answered. A fence may come a while after its Pod: the probe `fenced` waits for it, and the probe `open` for the
/// canary, both for 20 s. Returns the exit status.
[[nodiscard]] int probe(std::span<const char* const> arguments);

}  // namespace skiff::container::egress
