#pragma once

#include <string>
#include <string_view>

#include "base/id.hpp"
#include "protocol/json/text.hpp"
#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

/// One page of a list: `?limit=` items after the one whose id is `?cursor=`.
class Page {
 public:
  static constexpr std::uint64_t kUsual = 100;
  static constexpr std::uint64_t kMost = 1000;
  /// A page ends after the item that exceeds this size, whatever `limit` is.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20U;

  /// Errors: invalid_field.
  [[nodiscard]] Result<> read(const Call& call) {
    SKIFF_TRY(auto limit, call.query_number("limit", kMost));
    limit_ = limit.value_or(kUsual);
    if (limit_ == 0) return fail(Errc::invalid_field, "limit must be at least 1", "limit");
    cursor_ = call.query("cursor").value_or("");
    if (!cursor_.empty() && !is_valid_id(cursor_)) {
      return fail(Errc::invalid_field, "cursor must be the next_cursor of an answer", "cursor");
    }
    return {};
  }

  /// `{"items":[...],"next_cursor":...}`. If the cursor's item is gone, the page starts at the first item whose id
  /// sorts after the cursor. Ids of the agent sort by time.
  template <class Items, class Id, class Wanted, class Append>
  [[nodiscard]] std::string list(const Items& items, Id id, Wanted wanted, Append append) const {
    std::string text{R"({"items":[)"};
    auto it = items.begin();
    if (!cursor_.empty()) {
      while (it != items.end() && id(*it) != cursor_) ++it;
      if (it != items.end()) {
        ++it;
      } else {
        for (it = items.begin(); it != items.end() && std::string_view{id(*it)} <= cursor_;) ++it;
      }
    }
    std::uint64_t count = 0;
    std::string last;
    for (; it != items.end(); ++it) {
      if (!wanted(*it)) continue;
      if (count == limit_ || text.size() > kMostBytes) {
        text += "],";
        text += R"("next_cursor":)";
        protocol::append_json_string(text, last);
        text += '}';
        return text;
      }
      if (count++ > 0) text += ',';
      append(text, *it);
      last = id(*it);
    }
    text += "]}";
    return text;
  }

 private:
  std::uint64_t limit_ = kUsual;
  std::string cursor_;
};

}  // namespace skiff::runtime::api
