#pragma once

#include <vector>

#include "runtime/api/answers/schema_parts.hpp"

/// The members of answers about entries. Lists have thousands of entries, so `append_entry` and its companions write
/// the bytes directly, without the rows of runtime/api/answers/answer.hpp. A test compares the written members with
/// these.
namespace skiff::runtime::api {

/// The members that `append_entry` writes.
[[nodiscard]] std::vector<Member> entry_members();
/// The members that `append_edited` writes: an entry and its diff.
[[nodiscard]] std::vector<Member> edited_members();
/// The members of an item of a batch or of a list of paths: those of an entry, of `append_failure`, or of a deletion.
[[nodiscard]] std::vector<Member> entry_result_members();

}  // namespace skiff::runtime::api
