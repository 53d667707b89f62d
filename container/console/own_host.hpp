#pragma once

#include <functional>
#include <string>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/serve/fleet/tenants.hpp"
#include "container/serve/keys/key_store.hpp"

namespace skiff::container::console {

/// The one API key of a console, which only this process has. It is stored nowhere, and has the owner of the user's
/// sandboxes as its tenant. Its name is empty, so that a sandbox that it starts stays one of the command line's.
class OwnKey final : public serve::KeyStore {
 public:
  explicit OwnKey(std::string owner);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  [[nodiscard]] std::string place() const override { return "the memory of this process"; }
  [[nodiscard]] Task<Result<serve::KeyRing>> read() override { co_return ring_; }
  [[nodiscard]] Task<Result<>> change(std::function<Result<>(serve::KeyRing&)> edit) override { co_return edit(ring_); }

 private:
  std::string text_;
  serve::KeyRing ring_;
};

/// The driver of the command line, whatever the tenant.
class OwnHost final : public serve::Tenants {
 public:
  /// `driver` must outlive it.
  explicit OwnHost(Driver* driver) : driver_{driver} {}

  [[nodiscard]] Task<Result<Driver*>> driver(std::string /*tenant*/) override { co_return driver_; }

 private:
  Driver* driver_;
};

}  // namespace skiff::container::console
