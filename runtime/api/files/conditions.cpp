#include "runtime/api/files/conditions.hpp"

#include <sys/stat.h>

#include <charconv>

namespace skiff::runtime::api {

Result<fs::Conditions> conditions_of(const Call& call) {
  const auto& headers = call.http.request().headers;
  fs::Conditions conditions;
  if (const auto given = headers.find("If-Match")) {
    SKIFF_TRY(auto tags, fs::TagList::parse(*given));
    conditions.if_match = std::move(tags);
  }
  if (const auto given = headers.find("If-None-Match")) {
    if (*given != "*") {
      return fail(Errc::invalid_field, "a change supports only If-None-Match: *", "If-None-Match");
    }
    conditions.must_be_new = true;
  }
  return conditions;
}

Result<mode_t> asked_mode(const Identity& identity, std::string_view text, std::string_view field) {
  unsigned mode = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || mode > 07777) {
    return fail(Errc::invalid_field, "a mode is octal, such as 0644", std::string{field});
  }
  if ((mode & (S_ISUID | S_ISGID)) != 0 && !require(identity, Scope::admin)) {
    return fail(Errc::insufficient_scope, "set-uid and set-gid bits need the scope admin", std::string{field});
  }
  return mode;
}

}  // namespace skiff::runtime::api
