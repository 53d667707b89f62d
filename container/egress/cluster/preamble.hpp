#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "base/async/task.hpp"

namespace skiff::container::egress {

/// The first line of each connection from a Pod: `SKIFF-EGRESS/1 TOKEN`, with CR LF at its end.
inline constexpr std::string_view kPreamble = "SKIFF-EGRESS/1 ";
inline constexpr std::size_t kLongestPreamble = 2048;

/// Reads that line and not a byte more, and returns the token; nullopt for anything else, and an empty text for a
/// client that goes without a word. `socket` is non-blocking.
[[nodiscard]] Task<std::optional<std::string>> read_preamble(
    boost::asio::posix::basic_stream_descriptor<Executor>* socket);

}  // namespace skiff::container::egress
