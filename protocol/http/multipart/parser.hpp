#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace skiff::protocol {

/// Returns the boundary of a multipart/form-data Content-Type (RFC 2046, 5.1.1), nothing for another type. Errors:
/// invalid_request for a multipart body without a boundary, or with one of more than 200 bytes.
[[nodiscard]] Result<std::optional<std::string>> multipart_boundary(std::string_view content_type);

/// The Content-Disposition of one part (RFC 7578, 4.2).
struct PartHead {
  std::string name;
  std::optional<std::string> filename;  ///< absent: a plain field
};

/// Splits a multipart/form-data body (RFC 7578) that comes in arbitrary pieces, in bounded memory: it keeps no byte of
/// the input. It skips the bytes before the first boundary and after the last one.
class MultipartParser {
 public:
  static constexpr std::size_t kMostHeadBytes = std::size_t{8} << 10U;  ///< limit for the header fields of one part
  static constexpr std::size_t kMostParts = 1000;
  /// This many bytes of input always suffice for progress.
  static constexpr std::size_t kWindow = kMostHeadBytes + 4;

  explicit MultipartParser(std::string_view boundary);

  enum class Event : std::uint8_t {
    more,      ///< it needs more bytes after the unused ones
    part,      ///< a part begins, see `head()`
    data,      ///< `bytes` belong to the part
    part_end,  ///< the part is complete
    end,       ///< the body is complete
  };
  struct Step {
    Event event = Event::more;
    std::size_t used = 0;         ///< used bytes at the start of the input; do not pass them again
    std::string_view bytes = {};  ///< points into the input
  };
  /// Continues at the start of `input`. Errors: invalid_request; payload_too_large for heads and parts above the
  /// limits. After an error the object is unusable.
  [[nodiscard]] Result<Step> next(std::string_view input);

  [[nodiscard]] const PartHead& head() const noexcept { return head_; }

 private:
  enum class State : std::uint8_t { start, preamble, boundary, head, data, epilogue };
  [[nodiscard]] Step skip_preamble(std::string_view input);
  [[nodiscard]] Result<Step> read_boundary(std::string_view input);
  [[nodiscard]] Result<Step> read_head(std::string_view input);
  [[nodiscard]] Step read_data(std::string_view input);
  /// Returns how many bytes at the end of `input` may begin a delimiter.
  [[nodiscard]] std::size_t begun_delimiter(std::string_view input) const;

  std::string delimiter_;  ///< CRLF, two dashes, the boundary
  PartHead head_;
  std::size_t parts_ = 0;
  State state_ = State::start;
};

}  // namespace skiff::protocol
