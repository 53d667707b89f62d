#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/settings/settings.hpp"

namespace skiff::container {

/// The keys that detach from a command, as in `docker attach`.
class DetachKeys {
 public:
  /// The default of `--detach-keys`.
  static constexpr std::string_view kDefault = "ctrl-p,ctrl-q";

  /// Keys separated by commas, each a character or `ctrl-` with a letter or one of @ [ \ ] ^ _. An empty text: none.
  [[nodiscard]] static Result<DetachKeys> parse(std::string_view text);

  struct Typed {
    std::string bytes;  ///< bytes for the command
    bool is_detached = false;
  };
  /// Searches typed bytes for the keys. Bytes that may be the beginning of the keys are held back until that is known.
  [[nodiscard]] Typed take(std::string_view typed);

 private:
  std::string keys_;
  std::string held_;  ///< bytes that may be the beginning of the keys
};

/// The row of `--detach-keys`.
[[nodiscard]] Setting detach_keys_row(std::string* text);

}  // namespace skiff::container
