#include "container/egress/terminate/server_trust.hpp"

namespace skiff::container::egress {

Result<std::shared_ptr<protocol::TlsContext>> ServerTrust::with(const std::string& ca_pem) {
  if (const auto found = kept_.find(ca_pem); found != kept_.end()) return found->second;
  SKIFF_TRY(auto made, protocol::TlsContext::client({.further_ca_pem = ca_pem, .resumes = true}));
  if (kept_.size() >= kKept) kept_.clear();
  kept_.emplace(ca_pem, made);
  return made;
}

}  // namespace skiff::container::egress
