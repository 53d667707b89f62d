#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skiff::bench {

/// The command line: `load MODE --name value ...`.
struct Options {
  std::string mode;
  std::uint16_t port = 0;
  std::string token;  ///< sent as a bearer credential when not empty
  std::string path = "/v1/sessions/default/commands";
  std::string body;            ///< JSON of a POST; empty: a GET
  std::string method = "PUT";  ///< upload: the method
  std::string headers;         ///< requests: further header fields, complete lines
  std::string command;         ///< bulk over WebSocket: the shell line for /run; over gRPC, calls: words of a command
  std::string form =
      "octet";  ///< bulk: octet, ndjson, ws-binary, ws-json, grpc; requests: connect, the body of a stream there
  std::string pattern = "bytes";  ///< bulk: bytes, text, lines, zero
  std::uint64_t bytes = 0;        ///< bulk, readers, download, upload: expected number
  std::string file;               ///< upload: path of the file afterwards, PUTs: + number; fetch: where to keep the
                                  ///< response
  std::string expect;             ///< requests: text that each response's body must contain
  unsigned put_bytes = 0;         ///< requests: PUT this many bytes of the pattern to the path + the connection's
                                  ///< number
  unsigned clients = 1;           ///< requests: connections; flood, readers: streams; 1..100,000
  unsigned pid = 0;               ///< readers: pid of the server, for its memory
  unsigned count = 200;           ///< first-byte: number of commands
  unsigned pause_us = 0;          ///< requests, by one client: pause between a response and the next request
  double seconds = 1;             ///< requests, calls, flood: duration, 0.05..60
  bool background = false;        ///< flood: without a reader
};

/// Throws Failure.
Options read_options(int argc, char** argv);

// There is one function per mode; each prints one JSON object and throws Failure for a wrong byte or response.
void run_requests(const Options& options);
void run_calls(const Options& options);
void run_first_byte(const Options& options);
void run_bulk(const Options& options);
void run_flood(const Options& options);
void run_download(const Options& options);
void run_upload(const Options& options);
void run_fetch(const Options& options);
void run_readers(const Options& options);
void run_selftest(const Options& options);

}  // namespace skiff::bench
