#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/settings.hpp"

namespace skiff::container {

/// The keys that leave an attached command alone, as `docker attach` has them.
class DetachKeys {
 public:
  /// What `--detach-keys` is when nobody says anything.
  static constexpr std::string_view kDefault = "ctrl-p,ctrl-q";

  /// Keys separated by commas, each a character or `ctrl-` with a letter or one of @ [ \ ] ^ _. An empty text: none.
  [[nodiscard]] static Result<DetachKeys> parse(std::string_view text);

  struct Typed {
    std::string bytes;  ///< what goes to the command
    bool is_detached = false;
  };
  /// Looks through what was typed. What may be the beginning of the keys is held back until it is known.
  [[nodiscard]] Typed take(std::string_view typed);

 private:
  std::string keys_;
  std::string held_;  ///< a beginning of the keys
};

/// The row of `--detach-keys`.
[[nodiscard]] Setting detach_keys_row(std::string* text);

}  // namespace skiff::container
