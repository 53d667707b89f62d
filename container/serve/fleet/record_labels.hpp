#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "container/sandbox/sandbox.hpp"

/// The server's labels on the record of a sandbox, beside those of its client. The names of both differ, and consist of
/// characters that every host permits (Kubernetes: 63 letters, digits, - _ and .).
namespace skiff::container::serve {

inline constexpr std::string_view kKeyLabel = "serve.key";            ///< the name of the API key
inline constexpr std::string_view kTemplateLabel = "serve.template";  ///< name of its template
inline constexpr std::string_view kOnEndLabel = "serve.on-end";       ///< `remove` or `stop`
inline constexpr std::string_view kWakeLabel = "serve.wake";          ///< `no`: a request does not start it again
inline constexpr std::string_view kOwnerLabel = "serve.owner";        ///< owner within the tenant
inline constexpr std::string_view kCreationLabel = "serve.creation";  ///< digest of the Idempotency-Key
inline constexpr std::string_view kToldLabel = "serve.told";          ///< the client got its id before it was up
inline constexpr std::string_view kFilesLabel = "serve.files";        ///< `lost`: a stop would lose its files
inline constexpr std::string_view kLost = "lost";
/// Nonce of this record: credentials for this sandbox are not valid for a later one of the same name.
inline constexpr std::string_view kNonceLabel = "serve.nonce";
inline constexpr std::string_view kRequestLabel = "serve.request";  ///< digest of the request that created it

using Labels = std::map<std::string, std::string>;

/// A client's labels in their stored form: `key.NAME`, or `hex.` and the name's bytes in hexadecimal digits if it has
/// other characters. `invalid_field` for an empty or too long name.
[[nodiscard]] Result<Labels> kept_labels(const Labels& labels);
/// The client's labels from the stored ones, without the server's own.
[[nodiscard]] Labels client_labels(const Labels& kept);

/// A label of the server, empty if there is none.
[[nodiscard]] std::string own_label(const Sandbox& sandbox, std::string_view name);

/// 16 hexadecimal digits that no other record has, not even a later one of the same name. For a sandbox that this
/// server has not created, they are derived from its id.
[[nodiscard]] std::string nonce_of(const Sandbox& sandbox);
inline constexpr std::size_t kNonceLetters = 16;

/// What happens to a sandbox at the end of its lease.
enum class OnEnd : std::uint8_t { remove, stop };
[[nodiscard]] OnEnd on_end(const Sandbox& sandbox);
[[nodiscard]] std::string_view on_end_word(OnEnd what) noexcept;

/// True if the sandbox keeps its files when it is stopped and started.
[[nodiscard]] bool keeps_files(const Sandbox& sandbox);

/// True if its lease is over and it is to be removed: clients cannot see it any more. A sandbox that its host has
/// broken is not over, because a start may bring it back.
[[nodiscard]] bool is_over(const Sandbox& sandbox);
/// True if it counts as running.
[[nodiscard]] bool takes_a_place(const Sandbox& sandbox);
/// True if it can be started again: it was stopped, or its lease is over and it is to be kept.
[[nodiscard]] bool is_asleep(const Sandbox& sandbox);

}  // namespace skiff::container::serve
