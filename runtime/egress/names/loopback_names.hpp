#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/async/deadline.hpp"
#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "protocol/net/listener.hpp"
#include "runtime/egress/helper.hpp"

namespace skiff::runtime::egress {

/// The names that programs have looked up, each with an address of its own in 127.64.0.0/10. A connection to a port of
/// that address goes through the egress proxy to the same port of the name. An address is not given to another name
/// before all others were, so a program that keeps one does not meet another server there.
///
/// A listener is in the way of a server of the sandbox's own on the same port of 0.0.0.0. So the listeners of a name
/// are closed when it has no connection, and nobody has asked for it for a while. Reactor thread only.
class LoopbackNames {
 public:
  static constexpr std::size_t kNames = 1024;  ///< the one that was asked for longest ago goes
  static constexpr std::chrono::seconds kQuiet{60};
  /// Descriptors of a listener: its own, and one in reserve.
  static constexpr std::size_t kDescriptors = 2;

  /// `helper` carries the connections, and outlives it. At most `listeners` are open at a time.
  LoopbackNames(Executor executor, Helper* helper, std::size_t listeners);
  LoopbackNames(const LoopbackNames&) = delete;
  LoopbackNames& operator=(const LoopbackNames&) = delete;
  ~LoopbackNames() = default;  // `stop()` must have ended

  /// The address of a name, in the byte order of the machine. It listens there on these ports from now on, and on no
  /// others. A port on which it cannot listen is in the log. Errors: it can listen on none.
  [[nodiscard]] Result<std::uint32_t> open(const std::string& name, std::span<const std::uint16_t> ports,
                                           SteadyTime now);
  /// Whether it listens for a name.
  [[nodiscard]] bool is_open(std::string_view name) const;
  /// Closes the listeners of a name that may not be reached any more. Its connections are the proxy's affair.
  void close(std::string_view name);
  /// Closes the listeners of names that nobody has used for `kQuiet`.
  void rest(SteadyTime now);
  [[nodiscard]] std::size_t listeners() const noexcept { return open_; }
  [[nodiscard]] Task<> stop();

 private:
  struct Name;
  using Place = std::list<std::shared_ptr<Name>>::iterator;
  [[nodiscard]] std::shared_ptr<Name> find_or_add(const std::string& name);
  [[nodiscard]] std::uint32_t free_address();
  [[nodiscard]] Result<> listen(const std::shared_ptr<Name>& name, std::uint16_t port);
  void close_all(Name& name);
  bool make_room(const Name& keep);
  void forget_one();
  static Task<> accept(LoopbackNames* self, std::shared_ptr<Name> name, std::shared_ptr<protocol::Listener> listener);
  static Task<> carry(LoopbackNames* self, std::shared_ptr<Name> name, std::uint16_t port, protocol::Stream client);
  void look_again();

  Executor executor_;
  Helper* helper_;
  std::size_t most_;
  std::size_t open_ = 0;
  std::uint32_t next_ = 0;                  ///< offset of the address that is tried next
  std::list<std::shared_ptr<Name>> names_;  ///< the one that was asked for last is first
  std::map<std::string, Place, std::less<>> by_name_;
  std::set<std::uint32_t> addresses_;   ///< those of `names_`
  std::set<std::uint16_t> complained_;  ///< ports whose failure is in the log
  std::optional<Deadline> quiet_;       ///< for the next look at names that nobody uses; until `stop()`
  bool looks_ = false;                  ///< there will be one
  TaskGroup tasks_;
};

}  // namespace skiff::runtime::egress
