#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace skiff::protocol {

/// The boundary of a multipart/form-data Content-Type (RFC 2046, 5.1.1). Nothing: another type. Errors:
/// invalid_request for a multipart body without a boundary, or with one of more than 200 bytes.
[[nodiscard]] Result<std::optional<std::string>> multipart_boundary(std::string_view content_type);

/// One part's Content-Disposition (RFC 7578, 4.2).
struct PartHead {
  std::string name;
  std::optional<std::string> filename;  ///< absent: a plain field
};

/// Takes a multipart/form-data body (RFC 7578) apart as it comes, however it is cut into pieces, in bounded memory: it
/// keeps no byte of what it is given. What stands before the first boundary and behind the last is skipped.
class MultipartParser {
 public:
  static constexpr std::size_t kMostHeadBytes = std::size_t{8} << 10U;  ///< the header fields of one part
  static constexpr std::size_t kMostParts = 1000;
  /// So many bytes at once are enough for it to go on.
  static constexpr std::size_t kWindow = kMostHeadBytes + 4;

  explicit MultipartParser(std::string_view boundary);

  enum class Event : std::uint8_t {
    more,      ///< nothing to tell: it needs more bytes behind those that it has not used
    part,      ///< `head()` says which one begins
    data,      ///< `bytes` of the part
    part_end,  ///< the part is whole
    end,       ///< the body is whole
  };
  struct Step {
    Event event = Event::more;
    std::size_t used = 0;         ///< of the input, from its start: they must not be given again
    std::string_view bytes = {};  ///< points into the input
  };
  /// Reads on from the start of `input`. Errors: invalid_request; payload_too_large for heads and parts above the
  /// bounds. It is of no use then.
  [[nodiscard]] Result<Step> next(std::string_view input);

  [[nodiscard]] const PartHead& head() const noexcept { return head_; }

 private:
  enum class State : std::uint8_t { start, preamble, boundary, head, data, epilogue };
  [[nodiscard]] Step skip_preamble(std::string_view input);
  [[nodiscard]] Result<Step> read_boundary(std::string_view input);
  [[nodiscard]] Result<Step> read_head(std::string_view input);
  [[nodiscard]] Step read_data(std::string_view input);
  /// How many bytes at the end of `input` may be the beginning of a delimiter.
  [[nodiscard]] std::size_t begun_delimiter(std::string_view input) const;

  std::string delimiter_;  ///< CRLF, two dashes, the boundary
  PartHead head_;
  std::size_t parts_ = 0;
  State state_ = State::start;
};

}  // namespace skiff::protocol
