#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Revisions of the Model Context Protocol (modelcontextprotocol.io/specification): the newest, the two before, and the
/// first with Streamable HTTP. They are ordered by time.
namespace skiff::runtime::mcp {

enum class Revision : std::uint8_t {
  v2025_03_26,  ///< takes batches
  v2025_06_18,
  v2025_11_25,
  v2026_07_28,  ///< no handshake: each request says all that it needs
};

struct RevisionName {
  Revision revision;
  std::string_view name;
};
inline constexpr std::array kRevisions{
    RevisionName{Revision::v2026_07_28, "2026-07-28"}, RevisionName{Revision::v2025_11_25, "2025-11-25"},
    RevisionName{Revision::v2025_06_18, "2025-06-18"}, RevisionName{Revision::v2025_03_26, "2025-03-26"}};

/// The newest revision with a handshake, which `initialize` offers to a client that asks for an unknown one.
inline constexpr Revision kNewestWithHandshake = Revision::v2025_11_25;

[[nodiscard]] constexpr std::optional<Revision> find_revision(std::string_view name) noexcept {
  for (const RevisionName& one : kRevisions) {
    if (one.name == name) return one.revision;
  }
  return std::nullopt;
}
[[nodiscard]] constexpr std::string_view name(Revision revision) noexcept {
  for (const RevisionName& one : kRevisions) {
    if (one.revision == revision) return one.name;
  }
  return {};
}
/// The names of the revisions as JSON: `["2026-07-28",...]`.
[[nodiscard]] inline std::string revision_list() {
  std::string text;
  for (const RevisionName& one : kRevisions) (((text += text.empty() ? "[\"" : ",\"") += one.name) += '"');
  return text + ']';
}

/// The member of a request's `_meta` with its revision, from 2026-07-28 on.
inline constexpr const char* kRevisionMeta = "io.modelcontextprotocol/protocolVersion";

}  // namespace skiff::runtime::mcp
