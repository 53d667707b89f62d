#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

/// The network of a box with --network open. pasta, which needs no rights, gives a network namespace the network of
/// this machine. The box is not in that namespace, but in its own behind it, because a program can avoid the routes of
/// its own namespace (SO_BINDTODEVICE, IP_PKTINFO). The namespace between forwards packets, except to what is barred.
namespace skiff::container::box {

/// Addresses of the link from pasta to the namespace between, and from there to the box.
inline constexpr const char* kPastaAddress = "198.18.0.2";
inline constexpr const char* kPastaPrefix = "29";
inline constexpr const char* kPastaGateway = "198.18.0.1";
inline constexpr const char* kNameServer = "198.18.0.3";

/// In the namespace between: creates the link to the network namespace of a process, bars the prefixes (a.b.c.d/n) and
/// forwards the rest. On failure it refuses the box.
void connect_box(pid_t box, const std::vector<std::string>& barred);

/// In the box: gives its end of the link an address and a route.
void set_up_link();

}  // namespace skiff::container::box
