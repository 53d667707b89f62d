#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace skiff::protocol {

/// Reads the first message of a TLS client (RFC 8446, 4.1.2) as its bytes come, for the name of the server that it
/// asks for. It takes nothing about which two readers could disagree: records of another type, an older protocol, a
/// message that does not fill its lengths, an extension or a name that is repeated, a name that is not a DNS name.
class ClientHelloReader {
 public:
  /// Longest message; today's browsers send 2 KiB.
  static constexpr std::size_t kLongest = 32 * 1024;
  /// Most bytes on the wire: records may have one byte each.
  static constexpr std::size_t kMostBytes = 64 * 1024;

  enum class State : std::uint8_t { incomplete, complete, wrong };

  /// Takes the next bytes. After `complete` and `wrong` it takes no more; bytes behind the message are passed over.
  State add(std::string_view bytes);
  [[nodiscard]] State state() const noexcept { return state_; }
  /// The name as sent, of letters, digits, hyphens, underscores and dots; empty before `complete`.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Why it is wrong, for people; empty before `wrong`.
  [[nodiscard]] std::string_view why() const noexcept { return why_; }

 private:
  State refuse(std::string_view why);
  [[nodiscard]] State read_message();
  [[nodiscard]] State read_extensions(std::string_view extensions);
  [[nodiscard]] State read_names(std::string_view list);

  State state_ = State::incomplete;
  std::string header_;         ///< of the current record, up to five bytes
  std::size_t in_record_ = 0;  ///< bytes of the current record that are still to come
  std::size_t taken_ = 0;
  std::string message_;
  std::string name_;
  std::string_view why_;
};

}  // namespace skiff::protocol
