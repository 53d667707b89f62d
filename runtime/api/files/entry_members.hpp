#pragma once

#include <vector>

#include "runtime/api/answers/schema_parts.hpp"

/// What the answers about entries say. Lists have thousands of them, so `append_entry` and what goes with it write
/// their bytes straight on, without rows as in runtime/api/answers/answer.hpp; a test holds each member of either to
/// the other.
namespace skiff::runtime::api {

/// Of `append_entry`.
[[nodiscard]] std::vector<Member> entry_members();
/// Of `append_edited`: an entry, and how it has changed.
[[nodiscard]] std::vector<Member> edited_members();
/// Of an item of a batch, or of a list of paths: an entry, `append_failure`'s, or what is deleted.
[[nodiscard]] std::vector<Member> entry_result_members();

}  // namespace skiff::runtime::api
