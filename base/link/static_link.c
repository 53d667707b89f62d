#include <errno.h>
#include <netdb.h>
#include <stddef.h>
#include <sys/socket.h>

/* For the static programs only. libcrypto and Asio refer to glibc's name resolution and to dlopen, which in a static
   program need the shared libraries of the very glibc it was built with: in somebody else's image they crash or hang.
   skiffd listens on address literals, skiff resolves names with c-ares (container/net/resolver.hpp), and neither loads
   modules. So these definitions take their place, drop some 150 KB of resolver, and make any use that creeps in fail
   plainly. */

int getaddrinfo(const char* restrict name, const char* restrict service, const struct addrinfo* restrict hints,
                struct addrinfo** restrict result) {
  (void)name, (void)service, (void)hints;
  *result = NULL;
  return EAI_FAIL;
}

void freeaddrinfo(struct addrinfo* list) {
  (void)list;
}

int getnameinfo(const struct sockaddr* restrict address, socklen_t length, char* restrict host, socklen_t host_size,
                char* restrict service, socklen_t service_size, int flags) {
  (void)address, (void)length, (void)host, (void)host_size, (void)service, (void)service_size, (void)flags;
  return EAI_FAIL;
}

struct hostent* gethostbyname(const char* name) {
  (void)name;
  return NULL;
}

/* c-ares: names of services, which skiff gives as numbers. */
struct servent* getservbyname(const char* name, const char* protocol) {
  (void)name, (void)protocol;
  return NULL;
}

int getservbyport_r(int port, const char* restrict protocol, struct servent* restrict entry, char* restrict buffer,
                    size_t size, struct servent** restrict result) {
  (void)port, (void)protocol, (void)entry, (void)buffer, (void)size;
  *result = NULL;
  return ENOENT;
}

/* libc.a's own dlopen is part of every static program, so it can't be defined again: the linker renames the calls
   (--wrap=dlopen). */
void* __wrap_dlopen(const char* file, int mode);  /* NOLINT(bugprone-reserved-identifier): the linker's name */
void* __wrap_dlopen(const char* file, int mode) { /* NOLINT(bugprone-reserved-identifier) */
  (void)file, (void)mode;
  return NULL;
}

/* The start files of a static program register its unwind table with these two, and libgcc then builds and sorts a list
   of all its entries at the first exception: 2 ms. Unregistered, it searches the sorted table that the linker has made
   (.eh_frame_hdr), as in any other program (--wrap=__register_frame_info, --wrap=__deregister_frame_info). */
void __wrap___register_frame_info(const void* begin, void* object);  /* NOLINT(bugprone-reserved-identifier) */
void __wrap___register_frame_info(const void* begin, void* object) { /* NOLINT(bugprone-reserved-identifier) */
  (void)begin, (void)object;
}
void* __wrap___deregister_frame_info(const void* begin);  /* NOLINT(bugprone-reserved-identifier) */
void* __wrap___deregister_frame_info(const void* begin) { /* NOLINT(bugprone-reserved-identifier) */
  (void)begin;
  return NULL;
}
