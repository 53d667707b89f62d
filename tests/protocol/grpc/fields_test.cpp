#include "protocol/grpc/fields.hpp"

#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(GrpcFields, MessagesArePercentEncoded) {
  const Headers ok = grpc_trailers({});
  EXPECT_EQ(ok.get("grpc-status"), "0");
  EXPECT_FALSE(ok.contains("grpc-message"));
  const Headers trailers = grpc_trailers({GrpcCode::not_found, "100% \xc3\xa9\n~"});
  EXPECT_EQ(trailers.get("grpc-status"), "5");
  EXPECT_EQ(trailers.get("grpc-message"), "100%25 %C3%A9%0A~");
}

TEST(GrpcFields, LongMessagesAreCutBetweenCharacters) {
  std::string text(999, 'x');
  text += "\xc3\xa9";
  EXPECT_EQ(grpc_trailers({GrpcCode::internal, text}).get("grpc-message"), std::string(999, 'x'));
}

TEST(GrpcFields, ErrorsHaveTheirCodes) {
  EXPECT_EQ(grpc_status({Errc::path_escapes_root, ""}).code, GrpcCode::permission_denied);
  EXPECT_EQ(grpc_status({Errc::command_not_found, ""}).code, GrpcCode::not_found);
  EXPECT_EQ(grpc_status({Errc::stdin_closed, ""}).code, GrpcCode::failed_precondition);
  EXPECT_EQ(grpc_status({Errc::in_use, ""}).code, GrpcCode::failed_precondition);
  EXPECT_EQ(grpc_status({Errc::too_many_links, ""}).code, GrpcCode::invalid_argument);
  EXPECT_EQ(grpc_status({Errc::too_many_commands, ""}).code, GrpcCode::resource_exhausted);
  EXPECT_EQ(grpc_status({Errc::draining, "stop"}).message, "stop");
}

TEST(GrpcFields, KnowsItsContentTypes) {
  for (const char* right : {"application/grpc", "application/grpc+proto", "Application/GRPC", "application/grpc; x=y",
                            "application/grpc+proto ;x=y"}) {
    EXPECT_TRUE(is_grpc_content_type(right)) << right;
  }
  for (const char* wrong :
       {"", "application/json", "application/grpc-web", "application/grpc+json", "application/grp"}) {
    EXPECT_FALSE(is_grpc_content_type(wrong)) << wrong;
  }
}

TEST(GrpcFields, Timeouts) {
  EXPECT_EQ(parse_grpc_timeout("1H"), milliseconds{hours{1}});
  EXPECT_EQ(parse_grpc_timeout("2M"), milliseconds{120'000});
  EXPECT_EQ(parse_grpc_timeout("3S"), milliseconds{3'000});
  EXPECT_EQ(parse_grpc_timeout("4m"), milliseconds{4});
  EXPECT_EQ(parse_grpc_timeout("5u"), milliseconds{1});
  EXPECT_EQ(parse_grpc_timeout("99999999n"), milliseconds{100});
  EXPECT_EQ(parse_grpc_timeout("0n"), milliseconds{0});
  EXPECT_EQ(parse_grpc_timeout("99999999H"), milliseconds{hours{24 * 365}});
  for (const char* wrong : {"", "1", "S", "-1S", "+1S", "123456789S", "1x", "1 S", "1.5S", "S1"}) {
    EXPECT_EQ(parse_grpc_timeout(wrong).error().code, Errc::invalid_field) << wrong;
  }
}

}  // namespace
}  // namespace skiff::protocol
