// Tests against an independent implementation: Python's websockets, as server and as client.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <map>

#include <gtest/gtest.h>

#include "base/async/task_group.hpp"
#include "protocol/websocket/handshake.hpp"
#include "protocol/websocket/socket.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::protocol {
namespace {

constexpr const char* kPython = "/usr/bin/python3";

/// A Python script whose standard output is read here. The destructor kills and reaps it.
class Script {
 public:
  Script(const std::string& text, const std::string& argument) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
    output_ = UniqueFd{ends[0]};
    const UniqueFd input{ends[1]};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
    std::array<std::string, 4> words{kPython, "-c", text, argument};
    std::array<char*, 5> argv{words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
    if (::posix_spawn(&pid_, kPython, &actions, nullptr, argv.data(), environ) != 0) pid_ = -1;
    ::posix_spawn_file_actions_destroy(&actions);
  }
  ~Script() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  std::string line() {
    std::string out;
    char byte = 0;
    while (readable(output_.get()) && ::read(output_.get(), &byte, 1) == 1 && byte != '\n') out += byte;
    return out;
  }

  int exit_code() {
    while (!line().empty()) {
    }
    int status = -1;
    if (pid_ > 0) ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  static bool readable(int fd) {
    pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, 10'000) == 1;
  }

 private:
  pid_t pid_ = -1;
  UniqueFd output_;
};

bool websockets_is_there() {
  Script probe{"import sys, websockets; sys.exit(0)", ""};
  return probe.exit_code() == 0;
}

#define SKIP_WITHOUT_WEBSOCKETS() \
  if (!websockets_is_there()) GTEST_SKIP() << "the Python package websockets is not installed for " << kPython

/// A request or response head, by lines; the bytes after it are in `rest`.
struct Head {
  std::string first;
  std::map<std::string, std::string, std::less<>> headers;
  std::string rest;
};

Task<Head> read_head(Stream* stream) {
  std::string bytes;
  while (bytes.find("\r\n\r\n") == std::string::npos) {
    std::array<char, 512> piece{};
    const auto got = co_await stream->read_some(piece);
    if (!got || *got == 0) break;
    bytes.append(piece.data(), *got);
  }
  Head head;
  std::size_t at = bytes.find("\r\n");
  head.first = bytes.substr(0, at);
  for (at += 2; bytes.substr(at, 2) != "\r\n" && at < bytes.size();) {
    const std::size_t end = bytes.find("\r\n", at), colon = bytes.find(':', at);
    std::string name = bytes.substr(at, colon - at);
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    head.headers[name] = bytes.substr(colon + 2, end - colon - 2);
    at = end + 2;
  }
  head.rest = bytes.substr(std::min(bytes.size(), at + 2));
  co_return head;
}

HeaderLookup lookup_in(const Head& head) {
  return [&head](std::string_view name) {
    const auto found = head.headers.find(name);
    return found == head.headers.end() ? std::string{} : found->second;
  };
}

Task<> write_text(Stream* stream, std::string text) {
  const std::string_view part{text};
  const auto written = co_await stream->write({&part, 1});
  EXPECT_TRUE(written);
}

Task<> serve_echo(Executor executor, UniqueFd socket) {
  Stream stream{executor, std::move(socket), "python"};
  const Head head = co_await read_head(&stream);
  const auto accept = accept_websocket(head.first.substr(0, head.first.find(' ')), lookup_in(head));
  CO_ASSERT_TRUE(accept) << accept.error().message;
  const auto offered = offered_subprotocols(lookup_in(head)("sec-websocket-protocol"));
  CO_ASSERT_TRUE(offered);
  std::string answer =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
      *accept + "\r\n";
  if (const auto chosen = choose_subprotocol(*offered, {"skiff.v1.json"}); !chosen.empty()) {
    answer += "Sec-WebSocket-Protocol: " + std::string{chosen} + "\r\n";
  }
  co_await write_text(&stream, answer + "\r\n");
  WebSocket server{std::move(stream), head.rest, {.max_message_bytes = 2 * 1024 * 1024}};
  while (true) {
    auto message = co_await server.read();
    if (!message) break;
    const auto sent = co_await server.send(message->kind, std::move(message->payload));
    if (!sent) break;
  }
}

constexpr const char* kClientScript = R"py(
import asyncio, sys, websockets
async def main(port):
    async with websockets.connect(f"ws://127.0.0.1:{port}/x", subprotocols=["other", "skiff.v1.json"], max_size=None) as ws:
        assert ws.subprotocol == "skiff.v1.json", ws.subprotocol
        for n in (0, 1, 125, 126, 127, 65535, 65536, 1 << 20):
            data = bytes(i * 7 % 256 for i in range(n))
            await ws.send(data)
            assert await ws.recv() == data, n
            text = "\u20ac\U0001F600x" * (n // 8)
            await ws.send(text)
            assert await ws.recv() == text, n
        await ws.send(c for c in ["frag", "men", "ted \u20ac"])
        assert await ws.recv() == "fragmented \u20ac"
        await asyncio.wait_for(await ws.ping(b"hello"), 10)
        await ws.close(4001, "done \u20ac")
        assert ws.close_code == 4001, ws.close_code
    async def breach(frame, code):
        async with websockets.connect(f"ws://127.0.0.1:{port}/x", max_size=None) as ws:
            ws.transport.write(frame)
            try:
                await asyncio.wait_for(ws.recv(), 10)
                assert False
            except websockets.ConnectionClosed as e:
                assert e.rcvd and e.rcvd.code == code, (e, code)
    await breach(b"\xc1\x80\0\0\0\0", 1002)
    await breach(b"\x81\x81\0\0\0\0\xff", 1007)
    await breach(b"\x82\xff" + (3 << 20).to_bytes(8, "big") + b"\0\0\0\0", 1009)
asyncio.run(main(int(sys.argv[1])))
print("finished")
)py";

constexpr const char* kServerScript = R"py(
import asyncio, websockets
async def echo(ws):
    async for message in ws:
        if message == "close":
            await ws.close(4002, "as asked")
            return
        await ws.send(message)
async def main():
    async with websockets.serve(echo, "127.0.0.1", 0, subprotocols=["skiff.v1.json"], max_size=None, ping_interval=0.05) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.Future()
asyncio.run(main())
)py";

TEST(WebSocketInterop, ServesAPythonClient) {
  SKIP_WITHOUT_WEBSOCKETS();
  test::run_on_reactor([](Executor executor) -> Task<> {
    const UniqueFd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    CO_ASSERT_TRUE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    CO_ASSERT_TRUE(::listen(listener.get(), 8) == 0);
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
    Script client{kClientScript, std::to_string(ntohs(address.sin_port))};
    for (int connection = 0; connection < 4; ++connection) {
      CO_ASSERT_TRUE(Script::readable(listener.get())) << "connection " << connection << " did not come";
      UniqueFd socket{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
      co_await serve_echo(executor, std::move(socket));
    }
    EXPECT_EQ(client.line(), "finished");
    EXPECT_EQ(client.exit_code(), 0);
  });
}

TEST(WebSocketInterop, TalksToAPythonServer) {
  SKIP_WITHOUT_WEBSOCKETS();
  test::run_on_reactor([](Executor executor) -> Task<> {
    Script script{kServerScript, ""};
    const std::string port = script.line();
    CO_ASSERT_TRUE(!port.empty());
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    CO_ASSERT_TRUE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
    Stream stream{executor, std::move(socket), "python"};
    const ClientHandshake handshake{{"skiff.v1.json"}};
    std::string request = "GET /x HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\n";
    for (const auto& [name, value] : handshake.headers()) request += name + ": " + value + "\r\n";
    co_await write_text(&stream, request + "\r\n");
    const Head head = co_await read_head(&stream);
    const auto chosen = handshake.check(static_cast<unsigned>(std::stoi(head.first.substr(9, 3))), lookup_in(head));
    CO_ASSERT_TRUE(chosen) << chosen.error().message;
    EXPECT_EQ(*chosen, "skiff.v1.json");
    WebSocket client{std::move(stream), head.rest, {.side = Side::client, .max_message_bytes = 2 * 1024 * 1024}};
    for (const std::size_t size : {0U, 1U, 125U, 126U, 65535U, 65536U, 1024U * 1024U}) {
      std::string payload(size, '\0');
      for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<char>(i * 7);
      const auto sent = co_await client.send(WebSocket::Kind::binary, payload);
      CO_ASSERT_TRUE(sent) << sent.error().message;
      const auto echoed = co_await client.read();
      CO_ASSERT_TRUE(echoed) << echoed.error().message;
      EXPECT_TRUE(echoed->payload == payload) << size;
    }
    const auto pinged = co_await client.ping("hello");
    EXPECT_TRUE(pinged);
    const auto asked = co_await client.send(WebSocket::Kind::text, "close");
    EXPECT_TRUE(asked);
    const auto end = co_await client.read();
    CO_ASSERT_TRUE(!end);
    CO_ASSERT_TRUE(client.closed());
    EXPECT_EQ(client.closed()->code, 4002);
    EXPECT_EQ(client.closed()->reason, "as asked");
  });
}

#undef SKIP_WITHOUT_WEBSOCKETS

}  // namespace
}  // namespace skiff::protocol
