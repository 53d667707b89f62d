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
  std::string body;            ///< JSON of a POST; without one it is a GET
  std::string method = "PUT";  ///< upload: how the server takes a file
  std::string headers;         ///< requests: further header fields, whole lines
  std::string command;         ///< bulk over WebSocket: the shell line for /run; over gRPC, calls: words of a command
  std::string form =
      "octet";  ///< bulk: octet, ndjson, ws-binary, ws-json, grpc; requests: connect, the body of a stream there
  std::string pattern = "bytes";  ///< bulk: bytes, text, lines, zero
  std::uint64_t bytes = 0;        ///< bulk, readers, download, upload: how many must come or go
  std::string file;               ///< upload: where it is afterwards, PUTs: + number; fetch: where to keep the answer
  std::string expect;             ///< requests: what each answer's body must contain
  unsigned put_bytes = 0;         ///< requests: PUT so many of the pattern to the path + the connection's number
  unsigned clients = 1;           ///< requests: connections; flood, readers: streams; 1..100,000
  unsigned pid = 0;               ///< readers: the server, for its memory
  unsigned count = 200;           ///< first-byte: how often
  unsigned pause_us = 0;          ///< requests, by one client: so long between an answer and the next request
  double seconds = 1;             ///< requests, calls, flood: how long, 0.05..60
  bool background = false;        ///< flood: nobody reads
};

/// Throws Failure.
Options read_options(int argc, char** argv);

// One function a mode; each prints one JSON object and throws Failure when a byte or an answer is not what it must be.
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
