#include "runtime/egress/names/loopback_names.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/log/log.hpp"
#include "base/scope_counter.hpp"
#include "sessions/host/name_addresses.hpp"

namespace skiff::runtime::egress {
namespace {

constexpr std::uint32_t kAddresses = std::uint32_t{1} << sessions::kNameNetworkShift;
constexpr std::chrono::seconds kBetweenLooks{15};

std::string text_of(std::uint32_t address) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) {
    text += (text.empty() ? "" : ".") + std::to_string(address >> static_cast<unsigned>(shift) & 0xFFU);
  }
  return text;
}

}  // namespace

struct LoopbackNames::Name {
  std::string host;
  std::uint32_t address;
  std::map<std::uint16_t, std::shared_ptr<protocol::Listener>> listeners = {};
  std::size_t connections = 0;
  SteadyTime used = {};
};

LoopbackNames::LoopbackNames(Executor executor, Helper* helper, std::size_t listeners)
    : executor_{executor}, helper_{helper}, most_{listeners}, tasks_{executor} {
  quiet_.emplace(executor, [this] { look_again(); });
}

Result<std::uint32_t> LoopbackNames::open(const std::string& name, std::span<const std::uint16_t> ports,
                                          SteadyTime now) {
  const std::shared_ptr<Name> found = find_or_add(name);
  Name& one = *found;
  one.used = now;
  for (auto each = one.listeners.begin(); each != one.listeners.end();) {
    if (std::ranges::count(ports, each->first) > 0) {
      ++each;
      continue;
    }
    each->second->close();
    each = one.listeners.erase(each);
    --open_;
  }
  std::optional<Error> failed;
  for (const std::uint16_t port : ports) {
    if (one.listeners.contains(port)) continue;
    auto listening = listen(found, port);
    if (listening) continue;
    failed = std::move(listening.error());
    if (!complained_.insert(port).second) continue;
    log::warning("programs that know no proxy do not reach this port by name: " + failed->message,
                 {{"host", name}, {"port", port}});
  }
  if (open_ > 0 && !std::exchange(looks_, true)) quiet_->expires_after(kBetweenLooks);
  if (one.listeners.empty() && failed) return std::unexpected{std::move(*failed)};
  return one.address;
}

bool LoopbackNames::is_open(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found != by_name_.end() && !(*found->second)->listeners.empty();
}

void LoopbackNames::close(std::string_view name) {
  if (const auto found = by_name_.find(name); found != by_name_.end()) close_all(**found->second);
}

void LoopbackNames::rest(SteadyTime now) {
  for (const auto& name : names_) {
    if (name->connections == 0 && name->used + kQuiet <= now) close_all(*name);
  }
}

void LoopbackNames::look_again() {
  rest(std::chrono::steady_clock::now());
  looks_ = open_ > 0;
  if (looks_) quiet_->expires_after(kBetweenLooks);
}

Task<> LoopbackNames::stop() {
  quiet_.reset();
  for (const auto& name : names_) close_all(*name);
  tasks_.cancel();
  co_await tasks_.join();
}

std::shared_ptr<LoopbackNames::Name> LoopbackNames::find_or_add(const std::string& name) {
  if (const auto found = by_name_.find(name); found != by_name_.end()) {
    names_.splice(names_.begin(), names_, found->second);
    return names_.front();
  }
  if (names_.size() >= kNames) forget_one();
  names_.push_front(std::make_shared<Name>(Name{.host = name, .address = free_address()}));
  by_name_.emplace(name, names_.begin());
  return names_.front();
}

std::uint32_t LoopbackNames::free_address() {
  // The address of the network itself is given to no name.
  do {
    next_ = next_ % (kAddresses - 1) + 1;
  } while (!addresses_.insert(sessions::kNameNetwork + next_).second);
  return sessions::kNameNetwork + next_;
}

/// Names with connections stay. There are fewer connections than names.
void LoopbackNames::forget_one() {
  const auto last =
      std::ranges::find_if(names_.rbegin(), names_.rend(), [](const auto& one) { return one->connections == 0; });
  if (last == names_.rend()) return;
  const auto place = std::prev(last.base());
  close_all(**place);
  addresses_.erase((*place)->address);
  by_name_.erase((*place)->host);
  names_.erase(place);
}

void LoopbackNames::close_all(Name& name) {
  for (const auto& [port, listener] : name.listeners) listener->close();
  open_ -= name.listeners.size();
  name.listeners.clear();
}

/// Takes the listeners of the name that nobody has used for longest. Returns false if all are in use.
bool LoopbackNames::make_room(const Name& keep) {
  const auto last = std::ranges::find_if(names_.rbegin(), names_.rend(), [&](const auto& one) {
    return one.get() != &keep && one->connections == 0 && !one->listeners.empty();
  });
  if (last == names_.rend()) return false;
  close_all(**last);
  return true;
}

Result<> LoopbackNames::listen(const std::shared_ptr<Name>& name, std::uint16_t port) {
  if (open_ >= most_ && !make_room(*name)) {
    return fail(Errc::resource_exhausted, "all " + std::to_string(most_) + " listeners for names are in use");
  }
  SKIFF_TRY(const auto address, protocol::Address::ip(text_of(name->address), port));
  SKIFF_TRY(auto opened, protocol::Listener::open(executor_, address));
  std::shared_ptr<protocol::Listener> listener = std::move(opened);
  name->listeners.emplace(port, listener);
  ++open_;
  tasks_.spawn("name", accept(this, name, std::move(listener)));
  return {};
}

Task<> LoopbackNames::accept(LoopbackNames* self, std::shared_ptr<Name> name,
                             std::shared_ptr<protocol::Listener> listener) {
  const std::uint16_t port = listener->address().port();
  co_await listener->accept_all([&](UniqueFd socket, const protocol::Address& peer) {
    // A machine may route its network to loopback addresses (route_localnet).
    if (!peer.is_loopback()) return;
    self->tasks_.spawn("connection to a name",
                       carry(self, name, port, protocol::Stream{self->executor_, std::move(socket), peer.text()}));
  });
}

Task<> LoopbackNames::carry(LoopbackNames* self, std::shared_ptr<Name> name, std::uint16_t port,
                            protocol::Stream client) {
  const ScopeCounter counted{name->connections};
  co_await self->helper_->carry_to(std::move(client), name->host + ":" + std::to_string(port));
  name->used = std::chrono::steady_clock::now();
}

}  // namespace skiff::runtime::egress
