#include "runtime/api/request_head.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <boost/asio/ip/address.hpp>
#include <cstring>
#include <optional>

#include "base/id.hpp"

namespace skiff::runtime::api {
namespace {

constexpr std::size_t kLongestRequestId = 128;

/// Absent on a Unix socket.
std::optional<boost::asio::ip::address> own_address(const protocol::HttpExchange& http) {
  const protocol::Address& local = http.local_address();
  if (local.family() == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, local.data(), sizeof address);
    return boost::asio::ip::address_v4{ntohl(address.sin_addr.s_addr)};
  }
  if (local.family() == AF_INET6) {
    sockaddr_in6 address{};
    std::memcpy(&address, local.data(), sizeof address);
    return boost::asio::ip::address_v6{
        std::bit_cast<boost::asio::ip::address_v6::bytes_type>(address.sin6_addr.s6_addr)};
  }
  return std::nullopt;
}

std::optional<std::string_view> host_of(const protocol::HttpExchange& http) {
  const std::string& host = http.request().host;
  return host.empty() ? std::nullopt : std::optional<std::string_view>{host};
}

}  // namespace

std::string request_id_of(const protocol::Headers& headers) {
  const std::string_view given = headers.get("X-Request-Id");
  const bool usable = !given.empty() && given.size() <= kLongestRequestId &&
                      std::ranges::all_of(given, [](char c) { return c > ' ' && c < '\x7f'; });
  return usable ? std::string{given} : new_id("r-");
}

Result<> check_host(const BrowserGuard& guard, const protocol::HttpExchange& http) {
  return guard.check_host(host_of(http), own_address(http));
}

Result<> check_browser(const BrowserGuard& guard, const protocol::HttpExchange& http) {
  const auto& request = http.request();
  SKIFF_TRY_VOID(check_host(guard, http));
  if (is_safe_method(request.method) && !request.headers.contains("Upgrade")) return {};
  return guard.check_origin(request.headers.find("Origin"), http.is_tls() ? "https" : "http", host_of(http));
}

bool let_page_read(const BrowserGuard& guard, protocol::HttpExchange& http) {
  if (!guard.lists_any_origin()) return false;
  http.extra_headers().set("Vary", "Origin");
  const auto origin = http.request().headers.find("Origin");
  if (!origin || !guard.lists_origin(*origin)) return false;
  // Without Access-Control-Allow-Credentials: a token is sent by the page itself, and never by the browser.
  http.extra_headers().set("Access-Control-Allow-Origin", *origin);
  http.extra_headers().set("Access-Control-Expose-Headers", "*");
  return true;
}

bool is_preflight(const protocol::HttpRequest& request) {
  return request.method == "OPTIONS" && request.headers.contains("Origin") &&
         request.headers.contains("Access-Control-Request-Method");
}

protocol::HttpResponse preflight_answer(const protocol::HttpRequest& request) {
  protocol::HttpResponse answer{.status = 204};
  answer.headers.add("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE");
  // Whatever it wants to send: what is not known is refused by the request itself.
  const std::string_view fields = request.headers.get("Access-Control-Request-Headers");
  if (!fields.empty()) answer.headers.add("Access-Control-Allow-Headers", fields);
  answer.headers.add("Access-Control-Max-Age", "600");
  return answer;
}

Result<> check_coding(const protocol::HttpRequest& request) {
  const std::string_view coding = request.headers.get("Content-Encoding");
  if (coding.empty() || protocol::same_text(coding, "identity")) return {};
  const bool has_body = request.body.kind != protocol::BodyFraming::Kind::none &&
                        (request.body.kind != protocol::BodyFraming::Kind::length || request.body.length > 0);
  if (!has_body) return {};
  return fail(Errc::unsupported_media_type,
              "the body is packed with Content-Encoding: " + std::string{coding} + ": send it unpacked",
              "Content-Encoding");
}

}  // namespace skiff::runtime::api
