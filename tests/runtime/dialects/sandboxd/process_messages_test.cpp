#include "runtime/dialects/sandboxd/process_messages.hpp"

#include <gtest/gtest.h>

using namespace std::string_literals;

namespace skiff::runtime::dialects::sandboxd {
namespace {

TEST(ProcessMessages, ReadsARequest) {
  // config { command: "sh" command: "" env_vars { key: "A" value: "b" } cwd: "x" } pty { cols: 80 rows: 24 }, and a
  // field that nobody knows.
  const auto request = read_process_request(
      "\x0a\x11\x0a\x02sh\x0a\x00\x12\x06\x0a\x01"
      "A\x12\x01"
      "b\x1a\x01x\x12\x04\x08\x50\x10\x18\x78\x01"s);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->config.command, (std::vector<std::string>{"sh", ""}));
  EXPECT_EQ(request->config.env_vars.at("A"), "b");
  EXPECT_EQ(request->config.cwd, "x");
  EXPECT_EQ(request->pty->cols, 80);
  EXPECT_EQ(request->pty->rows, 24);
}

TEST(ProcessMessages, RefusesAMalformedRequest) {
  EXPECT_EQ(read_process_request("").error().code, Errc::missing_field);
  EXPECT_EQ(read_process_request("\x0a\x00"s).error().code, Errc::missing_field);
  EXPECT_EQ(read_process_request("\x0a\x05x").error().code, Errc::invalid_field);
  EXPECT_EQ(read_process_request("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff").error().code, Errc::invalid_field);
  EXPECT_EQ(read_write_stdin("\x12\x05").error().code, Errc::invalid_field);
}

TEST(ProcessMessages, BoundsItsWords) {
  std::string config;
  for (int i = 0; i < 65'537; ++i) config += "\x0a\x00"s;
  std::string message = "\x0a";
  for (std::size_t left = config.size(); left > 0; left >>= 7U) {
    message += static_cast<char>((left & 127U) | (left > 127 ? 128U : 0U));
  }
  EXPECT_EQ(read_process_request(message + config).error().code, Errc::invalid_field);
}

TEST(ProcessMessages, TheLastOfAOneofCounts) {
  const auto input = read_write_stdin("\x08\x07\x1a\x00\x12\x01x"s);
  EXPECT_EQ(input->process_id, 7);
  EXPECT_EQ(input->input, "x");
  EXPECT_FALSE(input->eof);
  const auto eof = read_write_stdin("\x12\x01x\x1a\x00"s);
  EXPECT_TRUE(eof->eof && eof->input.empty());
}

TEST(ProcessMessages, WritesEvents) {
  EXPECT_EQ(init_event(5), "\x0a\x02\x08\x05");
  EXPECT_EQ(exit_event(0), "\x22\x00"s);  // an exit with code 0 is still an exit
  EXPECT_EQ(exit_event(3), "\x22\x02\x08\x03");
  EXPECT_EQ(exit_event(-1), "\x22\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  EXPECT_EQ(execute_head(0), "");
  std::string head;
  append_bytes_head(head, kStderrField, 300);
  EXPECT_EQ(head, "\x1a\xac\x02");
}

TEST(ProcessMessages, TerminalsHaveASize) {
  EXPECT_TRUE(terminal_size(1, 65'535));
  EXPECT_FALSE(terminal_size(0, 1));
  EXPECT_FALSE(terminal_size(1, 65'536));
}

}  // namespace
}  // namespace skiff::runtime::dialects::sandboxd
