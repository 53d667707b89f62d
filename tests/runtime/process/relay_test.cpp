#include "runtime/process/relay.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/unique_fd.hpp"

namespace skiff::runtime {
namespace {

struct Ends {
  UniqueFd ours;
  UniqueFd relayed;
};

Ends socket_pair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {UniqueFd{ends[0]}, UniqueFd{ends[1]}};
}

void send_all(int to, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t sent = ::write(to, text.data() + at, text.size() - at);
    ASSERT_GT(sent, 0);
    at += static_cast<std::size_t>(sent);
  }
}

std::string read_to_end(int from) {
  std::string all;
  std::array<char, 4096> piece{};
  for (ssize_t got = 0; (got = ::read(from, piece.data(), piece.size())) > 0;) {
    all.append(piece.data(), static_cast<std::size_t>(got));
  }
  return all;
}

TEST(Relay, CarriesBothDirectionsAndTheirEnds) {
  Ends client = socket_pair();
  Ends server = socket_pair();
  bool is_whole = false;
  std::jthread relaying{[&] {
    is_whole = carry_both_ways(client.relayed.get(), client.relayed.get(), server.relayed.get());
    client.relayed.reset();
  }};
  const std::string request(300'000, 'q');
  std::jthread sending{[&] {
    send_all(client.ours.get(), request);
    ::shutdown(client.ours.get(), SHUT_WR);
  }};
  EXPECT_EQ(read_to_end(server.ours.get()), request) << "the end of the request arrives, too";
  sending.join();
  const std::string answer(300'000, 'a');
  std::jthread answering{[&] {
    send_all(server.ours.get(), answer);
    server.ours.reset();
  }};
  EXPECT_EQ(read_to_end(client.ours.get()), answer);
  relaying.join();
  EXPECT_TRUE(is_whole);
}

TEST(Relay, AFullClientDoesNotStopItsOwnRequest) {
  Ends client = socket_pair();
  Ends server = socket_pair();
  std::jthread relaying{[&] {
    (void)carry_both_ways(client.relayed.get(), client.relayed.get(), server.relayed.get());
    client.relayed.reset();
  }};
  // More than all buffers on the way take: it is read only when the request has arrived.
  const std::string answer(4'000'000, 'a');
  std::jthread answering{[&] { send_all(server.ours.get(), answer); }};
  send_all(client.ours.get(), "request");
  std::array<char, 7> got{};
  EXPECT_EQ(::recv(server.ours.get(), got.data(), got.size(), MSG_WAITALL), 7);
  std::string read(answer.size(), '\0');
  EXPECT_EQ(::recv(client.ours.get(), read.data(), read.size(), MSG_WAITALL), static_cast<ssize_t>(answer.size()));
  answering.join();
  server.ours.reset();
  relaying.join();
}

TEST(Relay, TakesOnePort) {
  EXPECT_EQ(relay({}), 2);
  for (const char* text : {"", "x", "0", "65536", "80x", "-1"}) EXPECT_EQ(relay({&text, 1}), 2) << text;
}

}  // namespace
}  // namespace skiff::runtime
