#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "container/sandbox/sandbox.hpp"

/// What the server writes on the record of a sandbox, beside what its client does: the names of both are kept apart,
/// and are such as a host takes that allows few characters in them (Kubernetes: 63 letters, digits, - _ and .).
namespace skiff::container::serve {

inline constexpr std::string_view kKeyLabel = "serve.key";            ///< the name of the API key
inline constexpr std::string_view kTemplateLabel = "serve.template";  ///< what it was made from
inline constexpr std::string_view kOnEndLabel = "serve.on-end";       ///< `remove` or `stop`
inline constexpr std::string_view kWakeLabel = "serve.wake";          ///< `no`: a request does not start it again
inline constexpr std::string_view kOwnerLabel = "serve.owner";        ///< whose it is within the tenant
inline constexpr std::string_view kCreationLabel = "serve.creation";  ///< digest of the Idempotency-Key
inline constexpr std::string_view kToldLabel = "serve.told";          ///< its id was told before it was up
inline constexpr std::string_view kFilesLabel = "serve.files";        ///< `lost`: a stop would lose its files
inline constexpr std::string_view kLost = "lost";
/// Of this record alone: what is made for the sandbox opens no later one of the same name.
inline constexpr std::string_view kNonceLabel = "serve.nonce";
inline constexpr std::string_view kRequestLabel = "serve.request";  ///< digest of what it was asked for with

using Labels = std::map<std::string, std::string>;

/// A client's labels as they are kept: `key.NAME`, or `hex.` and the name's bytes in hexadecimal digits where it has
/// other characters. `invalid_field` for an empty name and for one that is too long.
[[nodiscard]] Result<Labels> kept_labels(const Labels& labels);
/// The way back; the server's own are left out.
[[nodiscard]] Labels client_labels(const Labels& kept);

/// A label of the server, empty if there is none.
[[nodiscard]] std::string own_label(const Sandbox& sandbox, std::string_view name);

/// 16 hexadecimal digits that no other record has, nor a later one of the same name; of one that this server has not
/// made they follow from its id.
[[nodiscard]] std::string nonce_of(const Sandbox& sandbox);
inline constexpr std::size_t kNonceLetters = 16;

/// What becomes of a sandbox at the end of its lease.
enum class OnEnd : std::uint8_t { remove, stop };
[[nodiscard]] OnEnd on_end(const Sandbox& sandbox);
[[nodiscard]] std::string_view on_end_word(OnEnd what) noexcept;

/// A stop and a start leave its files as they are.
[[nodiscard]] bool keeps_files(const Sandbox& sandbox);

/// Its lease is over and it was not to be kept: nobody is shown it any more. One that its host has broken is not: a
/// start may bring it back.
[[nodiscard]] bool is_over(const Sandbox& sandbox);
/// It is counted as one that runs.
[[nodiscard]] bool takes_a_place(const Sandbox& sandbox);
/// It can be started again: it was stopped, or its lease is over and it was to be kept.
[[nodiscard]] bool is_asleep(const Sandbox& sandbox);

}  // namespace skiff::container::serve
