#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "protocol/http/message.hpp"

/// The form that asks for an API key. It needs no script, and the key is in no page that has one.
namespace skiff::container::console {

inline constexpr std::string_view kSignInPath = "/sign-in";
inline constexpr std::string_view kSignOutPath = "/sign-out";
inline constexpr std::size_t kLongestForm = 4096;

/// The form, after `refused` with its reason.
[[nodiscard]] protocol::HttpResponse sign_in_page();
[[nodiscard]] protocol::HttpResponse sign_in_page(const Error& refused);

/// The key in the body that the form sends (application/x-www-form-urlencoded), without blanks around it; empty if
/// there is none.
[[nodiscard]] std::string key_in_form(std::string_view body);

}  // namespace skiff::container::console
