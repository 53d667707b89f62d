#include "container/drivers/pods/free_members.hpp"

#include <cstddef>
#include <iterator>
#include <utility>

#include "container/drivers/pods/pool_record.hpp"

namespace skiff::container {
FreeMembers::FreeMembers(const kube::Mirror* pods) : pods_{pods}, first_{random_number()} {}

FreeMembers::Held::~Held() {
  if (from_ != nullptr) from_->held_.erase(pod_.name());
}

void FreeMembers::Held::refuse() {
  from_->refused_.insert_or_assign(pod_.name(), version_);
}

std::optional<FreeMembers::Held> FreeMembers::next(const std::string& pool) {
  std::erase_if(refused_, [this](const auto& one) { return pods_->version_of(one.first) != one.second; });
  const kube::Mirror::Names& names = pods_->group(pool);
  if (names.empty()) return std::nullopt;
  auto name = std::next(names.begin(), static_cast<std::ptrdiff_t>(first_ % names.size()));
  for (std::size_t looked = 0; looked < names.size(); ++looked) {
    if (!refused_.contains(*name) && held_.insert(*name).second) {
      return Held{this, *pods_->find(*name), pods_->version_of(*name)};
    }
    if (++name == names.end()) name = names.begin();
  }
  return std::nullopt;
}

}  // namespace skiff::container
