#include "container/serve/log_turns.hpp"

#include <utility>

namespace skiff::container::serve {

Task<LogTurns::Turn> LogTurns::enter(std::string tenant) {
  Turnstile& own = tenants_.try_emplace(std::move(tenant), executor_, std::size_t{1}).first->second;
  auto of_tenant = co_await own.enter();
  auto of_all = co_await all_.enter();
  co_return Turn{.of_tenant = std::move(of_tenant), .of_all = std::move(of_all)};
}

}  // namespace skiff::container::serve
