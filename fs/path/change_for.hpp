#pragma once

#include <optional>
#include <string_view>
#include <type_traits>

#include "base/error.hpp"
#include "fs/path/owner.hpp"
#include "fs/path/tree.hpp"

namespace skiff::fs {

enum class Rights : unsigned char { agents, askers };

/// Runs `work(tree, rights)`, a change whose result is for `asker`; none: for the agent's own user. Where no link is on
/// the way, the path says what is meant, and the agent's rights count. A link may be the asker's own, who would have
/// the agent do what he may not: with one on the way the work is done again, as the asker (`ActingAs`). What the first
/// time has changed until then is what was asked for. On a thread that may block. Errors: also those of ActingAs.
template <class Work>
std::invoke_result_t<Work&, const Tree&, Rights> change_for(const std::optional<Asker>& asker, const Tree& tree,
                                                            std::string_view path, Work work) {
  if (!asker) return work(tree, Rights::agents);
  SKIFF_TRY(const auto plain, tree.without_links());
  auto done = work(plain, Rights::agents);
  if (done || done.error().code != Errc::too_many_links) return done;
  SKIFF_TRY(const auto acting, ActingAs::begin(*asker, path));
  return work(tree, Rights::askers);
}

/// Goes on with such a change, by the rights with which it was begun: on another thread, as a rule.
template <class Work>
std::invoke_result_t<Work&> go_on_for(const std::optional<Asker>& asker, Rights rights, std::string_view path,
                                      Work work) {
  if (rights == Rights::agents) return work();
  SKIFF_TRY(const auto acting, ActingAs::begin(*asker, path));
  return work();
}

}  // namespace skiff::fs
