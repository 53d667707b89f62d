#include "container/cli/key_stores.hpp"

#include <chrono>
#include <cstddef>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/small_file.hpp"
#include "container/cluster/labels.hpp"
#include "container/host/file_lock.hpp"
#include "protocol/json/base64.hpp"

namespace skiff::container {
namespace {

using serve::KeyRing;

constexpr std::size_t kLongestRing = std::size_t{1} << 20U;
constexpr std::chrono::seconds kKeysPatience{10};
constexpr std::string_view kRingFile = "api-keys.json";
/// Most attempts to write; each follows a change by another writer.
constexpr int kMostWrites = 20;

Result<KeyRing> read_ring(const std::string& text, const std::string& where) {
  std::vector<std::string> of_the_future;
  auto ring = protocol::decode<KeyRing>(text, {}, &of_the_future);
  if (!ring) ring.error().message = where + ": " + ring.error().message;
  return ring;
}

/// A Secret that was created empty has no keys yet.
Result<KeyRing> ring_of(const kube::Object& secret, const std::string& place) {
  const std::string kept = secret.text({"data", kRingFile});
  if (kept.empty()) return KeyRing{};
  const auto text = protocol::decode_base64(kept);
  if (!text) return fail(Errc::invalid_field, place + ": " + std::string{kRingFile} + " is not base64");
  return read_ring(*text, place);
}

}  // namespace

std::string KeyFile::place() const {
  return (state_.path() / kRingFile).string();
}

Result<KeyRing> KeyFile::load() const {
  auto text = read_small_file(place(), kLongestRing);
  if (text) return read_ring(*text, place());
  if (text.error().code == Errc::path_not_found) return KeyRing{};
  return std::unexpected{std::move(text.error())};
}

Task<Result<KeyRing>> KeyFile::read() {
  co_return load();
}

Task<Result<>> KeyFile::change(std::function<Result<>(KeyRing&)> edit) {
  SKIFF_CO_TRY(auto lock, co_await FileLock::acquire(state_.path() / ".lock", std::string{kRingFile}, kKeysPatience));
  SKIFF_CO_TRY(auto ring, load());
  SKIFF_CO_TRY_VOID(edit(ring));
  co_return write_private_file(place(), protocol::to_json(ring));
}

std::string KeySecret::place() const {
  return "Secret " + cluster_->object_name("api-keys") + " in namespace " + cluster_->namespace_name();
}

Task<Result<KeyRing>> KeySecret::read() {
  const std::string name = cluster_->object_name("api-keys");
  auto secret = co_await cluster_->client().get(kube::kSecrets, cluster_->namespace_name(), name);
  if (!secret && secret.error().not_found()) co_return KeyRing{};
  if (!secret) co_return std::unexpected{std::move(secret.error())};
  co_return ring_of(*secret, place());
}

Task<Result<>> KeySecret::change(std::function<Result<>(KeyRing&)> edit) {
  const std::string name = cluster_->object_name("api-keys");
  std::string sent;
  for (int tries = 0; tries < kMostWrites; ++tries) {
    auto secret = co_await cluster_->client().get(kube::kSecrets, cluster_->namespace_name(), name);
    if (!secret && !secret.error().not_found()) co_return std::unexpected{std::move(secret.error())};
    KeyRing ring;
    if (secret) {
      // The answer to the last write may have been lost.
      if (!sent.empty() && secret->text({"data", kRingFile}) == sent) co_return Result<>{};
      SKIFF_CO_TRY(auto known, ring_of(*secret, place()));
      ring = std::move(known);
    }
    SKIFF_CO_TRY_VOID(edit(ring));
    sent = protocol::encode_base64(protocol::to_json(ring));
    const nlohmann::json data{{kRingFile, sent}};
    kube::Outcome<kube::Object> written;
    if (secret) {
      // The patch is refused if the Secret has changed since it was read.
      const nlohmann::json patch{{"metadata", {{"resourceVersion", secret->resource_version()}}}, {"data", data}};
      written = co_await cluster_->client().patch(kube::kSecrets, cluster_->namespace_name(), name,
                                                  kube::PatchKind::merge, patch);
    } else {
      auto made = kube::Object::make(kube::kSecrets, cluster_->namespace_name(), name);
      labels::put_common(made, "key", "api-keys", {});
      made.json["data"] = data;
      written = co_await cluster_->client().create(kube::kSecrets, std::move(made));
    }
    if (written) co_return Result<>{};
    // A write without an answer may have taken effect; the check above finds that.
    const kube::Failure& why = written.error();
    if (!why.conflict() && !why.already_exists() && !why.may_have_happened) {
      co_return std::unexpected{std::move(written.error())};
    }
  }
  co_return fail(Errc::sandbox_conflict, place() + " was changed by others too often at the same time: try again");
}

Task<Result<std::unique_ptr<serve::KeyStore>>> open_key_store(Context* context) {
  SKIFF_CO_TRY(auto driver, co_await context->driver());
  if (driver->name() == "direct") {
    co_return fail(Errc::not_supported, "with --driver direct there are no API keys: the skiffd has its own tokens",
                   "--driver");
  }
  if (driver->name() == "serve") {
    co_return fail(Errc::not_supported, "create API keys where the server runs, with the driver that it uses",
                   "--driver");
  }
  if (is_of_this_machine(driver->name())) {
    SKIFF_CO_TRY(auto state, StateDirectory::open({}));
    co_return std::make_unique<KeyFile>(std::move(state));
  }
  SKIFF_CO_TRY(auto cluster, context->cluster());
  co_return std::make_unique<KeySecret>(cluster);
}

}  // namespace skiff::container
