#pragma once

#include <memory>
#include <string>

#include "protocol/http/message.hpp"
#include "runtime/dialects/http_dialect.hpp"

/// The dialect's REST endpoint: files, health and metadata.
namespace skiff::runtime::dialects::sandboxd {

[[nodiscard]] std::unique_ptr<Service> open_rest(Agent& agent);

/// A JSON response that ends with a newline, as Go's encoder writes it.
[[nodiscard]] protocol::HttpResponse rest_json(unsigned status, std::string text);

}  // namespace skiff::runtime::dialects::sandboxd
