#pragma once

#include <memory>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/cli/context.hpp"
#include "container/host/state_directory.hpp"
#include "container/serve/keys/key_store.hpp"

namespace skiff::container {

/// Keys in a file of the state directory, which other users cannot read.
class KeyFile final : public serve::KeyStore {
 public:
  explicit KeyFile(StateDirectory state) : state_{std::move(state)} {}

  [[nodiscard]] std::string place() const override;
  [[nodiscard]] Task<Result<serve::KeyRing>> read() override;
  [[nodiscard]] Task<Result<>> change(std::function<Result<>(serve::KeyRing&)> edit) override;

 private:
  [[nodiscard]] Result<serve::KeyRing> load() const;
  StateDirectory state_;
};

/// Keys in a Secret of the namespace, PREFIXapi-keys.
class KeySecret final : public serve::KeyStore {
 public:
  /// `cluster` must outlive it.
  explicit KeySecret(Cluster* cluster) : cluster_{cluster} {}

  [[nodiscard]] std::string place() const override;
  [[nodiscard]] Task<Result<serve::KeyRing>> read() override;
  [[nodiscard]] Task<Result<>> change(std::function<Result<>(serve::KeyRing&)> edit) override;

 private:
  Cluster* cluster_;
};

/// Opens the key store of the selected driver. not_supported for `direct` and `serve`.
[[nodiscard]] Task<Result<std::unique_ptr<serve::KeyStore>>> open_key_store(Context* context);

}  // namespace skiff::container
