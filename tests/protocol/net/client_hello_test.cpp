#include "protocol/net/client_hello.hpp"

#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

using State = ClientHelloReader::State;

std::string number(std::size_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 0xFFU);
  return text;
}

std::string counted(const std::string& text, int bytes) {
  return number(text.size(), bytes) + text;
}

std::string name_entry(const std::string& name, char type = 0) {
  return std::string(1, type) + counted(name, 2);
}

std::string extension(std::size_t type, const std::string& content) {
  return number(type, 2) + counted(content, 2);
}

std::string server_name(const std::string& entries) {
  return extension(0, counted(entries, 2));
}

std::string message(const std::string& extensions) {
  const std::string body = "\x03\x03" + std::string(32, 'r') + counted("session", 1) + counted("\x13\x01", 2) +
                           counted(std::string(1, '\0'), 1) + counted(extensions, 2);
  return "\x01" + counted(body, 3);
}

std::string record(const std::string& content, char type = 22) {
  return std::string(1, type) + "\x03\x01" + counted(content, 2);
}

std::string hello(const std::string& name) {
  return record(message(extension(43, "x") + server_name(name_entry(name)) + extension(16, "y")));
}

TEST(ClientHello, NamesAServer) {
  ClientHelloReader reader;
  EXPECT_EQ(reader.add(hello("PyPI.org") + "more"), State::complete);
  EXPECT_EQ(reader.name(), "PyPI.org");
  EXPECT_EQ(reader.add("still more"), State::complete);
}

TEST(ClientHello, ComesByteByByteInRecordsOfAnySize) {
  const std::string whole = message(server_name(name_entry("pypi.org")));
  for (const std::size_t size : {1U, 3U, 100U}) {
    std::string wire;
    for (std::size_t at = 0; at < whole.size(); at += size) wire += record(whole.substr(at, size));
    ClientHelloReader reader;
    for (std::size_t at = 0; at + 1 < wire.size(); ++at) EXPECT_EQ(reader.add(wire.substr(at, 1)), State::incomplete);
    EXPECT_EQ(reader.add(wire.substr(wire.size() - 1)), State::complete);
    EXPECT_EQ(reader.name(), "pypi.org");
  }
}

TEST(ClientHello, RefusesWhatTwoReadersCouldReadDifferently) {
  const std::string one = server_name(name_entry("a.org"));
  for (const std::string& wire : {
           std::string{"SSH-2.0-OpenSSH\r\n"},
           std::string{"GET / HTTP/1.1\r\n"},
           std::string{"\x80\x2e\x01\x03\x01"},
           record("x", 21),
           std::string{"\x16\x02\x00", 3},
           record(""),
           std::string{"\x16\x03\x01\xff\xff", 5},
           record("\x02" + message(one).substr(1)),
           record(message("")),
           record(message(extension(43, "x"))),
           record(message(one + one)),
           record(message(extension(43, "x") + extension(43, "x") + one)),
           record(message(server_name(name_entry("a.org") + name_entry("b.org")))),
           record(message(server_name(name_entry("a.org", 1)))),
           record(message(server_name(""))),
           record(message(server_name(name_entry("")))),
           record(message(server_name(name_entry(std::string{"a.org\0.b", 8})))),
           record(message(server_name(name_entry("a.org/")))),
           record(message(server_name(name_entry(std::string(254, 'a'))))),
           record(message(extension(0, counted(name_entry("a.org"), 2) + "x"))),
           record(message(one + "x")),
           record(message(one) + "x"),
           record("\x01" + number(ClientHelloReader::kLongest + 1, 3)),
       }) {
    ClientHelloReader reader;
    EXPECT_EQ(reader.add(wire), State::wrong) << testing::PrintToString(wire);
    EXPECT_FALSE(reader.why().empty());
    EXPECT_TRUE(reader.name().empty());
    EXPECT_EQ(reader.add(hello("a.org")), State::wrong);
  }
}

TEST(ClientHello, HasAnEnd) {
  ClientHelloReader reader;
  EXPECT_EQ(reader.add(record("\x01" + number(ClientHelloReader::kLongest, 3))), State::incomplete);
  std::size_t sent = 0;
  while (reader.add(record("x")) == State::incomplete) sent += 6;
  EXPECT_LE(sent, ClientHelloReader::kMostBytes);
  EXPECT_EQ(reader.state(), State::wrong);
}

}  // namespace
}  // namespace skiff::protocol
