#include "container/serve/audit.hpp"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/fake_root.hpp"

namespace skiff::container::serve {
namespace {

std::vector<nlohmann::json> lines(const std::filesystem::path& path) {
  std::vector<nlohmann::json> all;
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);) {
    all.push_back(nlohmann::json::parse(line));
    all.back().erase("time");
  }
  return all;
}

TEST(ServeAudit, ALineSaysWhoDidWhatToWhichSandbox) {
  const test::FakeRoot directory;
  const auto path = directory.path / "audit";
  {
    auto log = AuditLog::open(path.string());
    ASSERT_TRUE(log);
    audit_request(log->get(), {.request_id = "r1",
                               .who = "me",
                               .key = audited_key("0123456789abcdef"),
                               .tenant = "team-a",
                               .method = "DELETE",
                               .route = "/v1/sandboxes/{id}",
                               .sandbox = "demo",
                               .status = 404,
                               .error = Errc::sandbox_not_found,
                               .took = std::chrono::milliseconds{3}});
    audit_deed(log->get(), "removal", "team-a", "demo", {});
    audit_deed(log->get(), "wake", "team-a", "demo", Error{.code = Errc::quota_exceeded, .message = "full"});
  }
  const std::vector<nlohmann::json> expected{
      {{"event", "request"},
       {"request_id", "r1"},
       {"who", "me"},
       {"key", "01234567"},
       {"tenant", "team-a"},
       {"method", "DELETE"},
       {"route", "/v1/sandboxes/{id}"},
       {"sandbox", "demo"},
       {"status", 404},
       {"error", "sandbox_not_found"},
       {"duration_ms", 3}},
      {{"event", "removal"}, {"tenant", "team-a"}, {"sandbox", "demo"}},
      {{"event", "wake"}, {"tenant", "team-a"}, {"sandbox", "demo"}, {"error", "quota_exceeded"}},
  };
  EXPECT_EQ(lines(path), expected);
}

TEST(ServeAudit, WithoutALogNothingIsWritten) {
  audit_request(nullptr, {.request_id = "r1"});
  audit_deed(nullptr, "wake", "a", "b", {});
}

}  // namespace
}  // namespace skiff::container::serve
