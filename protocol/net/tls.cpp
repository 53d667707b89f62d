#include "protocol/net/tls.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "protocol/net/address.hpp"

namespace skiff::protocol {
namespace {

template <auto free_function>
struct Free {
  template <class T>
  void operator()(T* object) const noexcept {
    free_function(object);
  }
};
using BioPtr = std::unique_ptr<BIO, Free<BIO_free>>;
using CertificatePtr = std::unique_ptr<X509, Free<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using ContextPtr = std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, Free<SSL_free>>;
using SessionPtr = std::unique_ptr<SSL_SESSION, Free<SSL_SESSION_free>>;

/// Returns the oldest OpenSSL error of this thread as text, and clears the rest.
std::string take_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "unknown reason";
  std::array<char, 256> text{};
  const char* reason = ERR_reason_error_string(code);
  if (reason != nullptr) return reason;
  ERR_error_string_n(code, text.data(), text.size());
  return text.data();
}

std::unexpected<Error> bad_setting(std::string what) {
  return fail(Errc::invalid_field, std::move(what) + ": " + take_error());
}

// --- a BIO over a socket: as OpenSSL's own, but a closed peer raises no SIGPIPE
// ---------------------------------------

/// The payload of records that are sent together.
constexpr std::size_t kPayload = 4 * kTlsRecord;
/// The type of a record, its version and the length of what follows (RFC 8446, 5.1).
constexpr std::size_t kHeader = 5;
/// These records with their headers and protection, at most (RFC 8446, 5.2).
constexpr std::size_t kRecords = kPayload + kPayload / kTlsRecord * (kHeader + 256);
/// Most bytes that one call takes from the socket. OpenSSL reads on for as long as messages come that need no answer
/// and have no data, such as session tickets, and nobody else would have the reactor.
constexpr std::size_t kTakenAtOnce = kRecords;

/// Returns the length, on the wire, of the record that these bytes begin with; 0 unless it is full.
std::size_t full_record(std::string_view bytes) {
  if (bytes.size() < kHeader) return 0;
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at])); };
  const std::size_t length = byte(3) * 256 + byte(4);
  return byte(0) == SSL3_RT_APPLICATION_DATA && length > kTlsRecord ? kHeader + length : 0;
}

/// The way of a session's bytes.
struct Wire {
  int socket = -1;
  std::size_t left = 0;     ///< bytes that this call may still take from the socket
  std::size_t record = 0;   ///< length of the peer's full records; 0: none has come
  std::string before = {};  ///< bytes that were read before
  std::size_t used = 0;     ///< of them
  bool gathers = false;     ///< records go to `unsent`
  std::string unsent = {};
  std::size_t sent = 0;  ///< of them

  [[nodiscard]] bool has_before() const noexcept { return used < before.size(); }
  /// Returns how many bytes of a buffer to fill. OpenSSL asks for the rest of a record alone, so a buffer that ends
  /// within one costs a call more.
  [[nodiscard]] std::size_t whole_records(std::size_t size) const noexcept {
    const std::size_t most = std::min(size, left);
    return record == 0 || most < record || size < kTakenAtOnce / 2 ? most : most - most % record;
  }
  [[nodiscard]] int take_before(std::span<char> into) {
    const std::size_t count = before.copy(into.data(), into.size(), used);
    used += count;
    if (!has_before()) before = {};
    if (before.empty()) used = 0;
    return static_cast<int>(count);
  }
  /// Sends what was gathered. Returns 0 when all is sent, else the errno of the socket.
  [[nodiscard]] int flush() {
    while (sent < unsent.size()) {
      const ssize_t count = ::send(socket, unsent.data() + sent, unsent.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0) return errno;
      sent += static_cast<std::size_t>(count);
    }
    unsent = {};
    sent = 0;
    return 0;
  }
};

Wire& bio_wire(BIO* bio) {
  return *static_cast<Wire*>(BIO_get_data(bio));
}

int bio_write(BIO* bio, const char* from, int size) {
  BIO_clear_retry_flags(bio);
  Wire& wire = bio_wire(bio);
  if (wire.gathers) {
    wire.unsent.append(from, static_cast<std::size_t>(size));
    return size;
  }
  // What OpenSSL sends by itself keeps its place behind that.
  errno = wire.flush();
  const ssize_t sent =
      errno != 0 ? -1 : ::send(wire.socket, from, static_cast<std::size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int bio_read(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  Wire& wire = bio_wire(bio);
  if (wire.has_before()) return wire.take_before({into, static_cast<std::size_t>(size)});
  if (wire.left == 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  const ssize_t got = ::recv(wire.socket, into, wire.whole_records(static_cast<std::size_t>(size)), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  if (got > 0) {
    wire.left -= static_cast<std::size_t>(got);
    const std::size_t record = full_record({into, static_cast<std::size_t>(got)});
    if (record != 0) wire.record = record;
  }
  return static_cast<int>(got);
}

long bio_control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return 0;
}

BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "skiff socket");
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return method;
}

// --- one connection
// ---------------------------------------------------------------------------------------------------

class OpenSslSession final : public TlsSession {
 public:
  OpenSslSession(std::unique_ptr<Wire> wire, SslPtr ssl, std::shared_ptr<TlsContext> context)
      : context_{std::move(context)}, wire_{std::move(wire)}, ssl_{std::move(ssl)} {}

  void begin_with(std::string bytes) override { wire_->before = std::move(bytes); }

  IoStep handshake() override {
    begin();
    const int result = SSL_do_handshake(ssl_.get());
    is_drained_ = false;
    return result == 1 ? IoStep{} : failed_step(result, "TLS handshake");
  }

  IoStep read(std::span<char> into) override {
    if (after_read_) return *after_read_;
    into = into.first(std::min(into.size(), kPayload));
    begin();
    std::size_t got = 0;
    for (std::size_t record = kTlsRecord; got < into.size() && (record == kTlsRecord || SSL_has_pending(ssl_.get()));) {
      const int result = SSL_read_ex(ssl_.get(), into.data() + got, into.size() - got, &record);
      if (result == 1) {
        got += record;
        continue;
      }
      IoStep step = failed_step(result, "TLS read");
      is_drained_ = step.kind == IoStep::Kind::want_read;
      if (got == 0) return step;
      if (step.kind == IoStep::Kind::end || step.kind == IoStep::Kind::failed) after_read_ = std::move(step);
      return {.bytes = got};
    }
    is_drained_ = false;
    return {.bytes = got};
  }

  IoStep write(std::string_view from) override {
    begin();
    if (auto step = flush(); step.kind != IoStep::Kind::done) return step;
    if (taken_ > 0) {
      const std::size_t told = std::min(taken_, from.size());
      taken_ -= told;
      return {.bytes = told};
    }
    std::size_t sent = 0;
    if (from.size() <= kTlsRecord) {
      const int result = SSL_write_ex(ssl_.get(), from.data(), from.size(), &sent);
      return result == 1 ? IoStep{.bytes = sent} : failed_step(result, "TLS write");
    }
    from = from.substr(0, kPayload);
    wire_->unsent.reserve(kRecords);
    wire_->gathers = true;
    int result = 1;
    std::size_t taken = 0;
    while (taken < from.size() && result == 1) {
      result = SSL_write_ex(ssl_.get(), from.data() + taken, from.size() - taken, &sent);
      if (result == 1) taken += sent;
    }
    wire_->gathers = false;
    if (taken == 0) return failed_step(result, "TLS write");
    auto step = flush();
    if (step.kind == IoStep::Kind::done) return {.bytes = taken};
    taken_ = taken;
    return step;
  }

  bool pending() const override {
    return SSL_pending(ssl_.get()) > 0 || wire_->has_before() || after_read_ ||
           (!is_drained_ && SSL_has_pending(ssl_.get()) != 0);
  }

  void shutdown() noexcept override {
    ERR_clear_error();
    if (SSL_is_init_finished(ssl_.get()) != 0 && !broken_) SSL_shutdown(ssl_.get());
    ERR_clear_error();
  }

 private:
  void begin() noexcept {
    ERR_clear_error();
    wire_->left = kTakenAtOnce;
  }

  IoStep flush() {
    const int error = wire_->flush();
    if (error == 0) return {};
    if (error == EAGAIN || error == EINTR) return {.kind = IoStep::Kind::want_write};
    broken_ = true;
    return {.kind = IoStep::Kind::failed, .error = system_error(error, "TLS write")};
  }

  IoStep failed_step(int result, std::string_view what) {
    const int error_number = errno;
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return {.kind = IoStep::Kind::want_read};
      case SSL_ERROR_WANT_WRITE:
        return {.kind = IoStep::Kind::want_write};
      case SSL_ERROR_ZERO_RETURN:
        return {.kind = IoStep::Kind::end};
      case SSL_ERROR_SYSCALL:
        broken_ = true;
        return {.kind = IoStep::Kind::failed,
                .error = system_error(error_number != 0 ? error_number : ECONNRESET, what)};
      default: {
        broken_ = true;
        std::string reason = take_error();
        Errc code = Errc::io_error;
        const long verdict = SSL_get_verify_result(ssl_.get());
        if (SSL_is_init_finished(ssl_.get()) == 0 && verdict != X509_V_OK) {
          code = Errc::unauthenticated;
          reason += std::string{" ("} + X509_verify_cert_error_string(verdict) + ")";
        }
        return {.kind = IoStep::Kind::failed, .error = Error{code, std::string{what} + ": " + reason}};
      }
    }
  }

  std::shared_ptr<TlsContext> context_;
  std::unique_ptr<Wire> wire_;
  SslPtr ssl_;
  std::size_t taken_ = 0;             ///< by a write whose records were not all sent, and not told yet
  std::optional<IoStep> after_read_;  ///< the end, behind the bytes of the last read
  bool is_drained_ = false;           ///< the last read needs more from the socket
  bool broken_ = false;
};

// --- contexts
// ---------------------------------------------------------------------------------------------------------

class OpenSslContext final : public TlsContext, public std::enable_shared_from_this<OpenSslContext> {
 public:
  OpenSslContext(ContextPtr context, bool is_client, bool verify)
      : context_{std::move(context)}, is_client_{is_client}, verify_{verify} {}

  void resume() {
    SSL_CTX_set_app_data(context_.get(), this);
    SSL_CTX_set_session_cache_mode(context_.get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context_.get(), &keep);
  }

  Result<std::unique_ptr<TlsSession>> session(int socket, const std::string& server_name) override {
    SslPtr ssl{SSL_new(context_.get())};
    BIO* bio = ssl ? BIO_new(socket_method()) : nullptr;
    if (bio == nullptr) return fail(Errc::resource_exhausted, "make a TLS session: " + take_error());
    auto wire = std::make_unique<Wire>(Wire{.socket = socket});
    BIO_set_data(bio, wire.get());
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl.get(), bio, bio);
    if (is_client_) {
      SSL_set_connect_state(ssl.get());
      SKIFF_TRY_VOID(expect_name(ssl.get(), server_name));
      // Each is used once, so that nobody on the way sees two connections begin with the same ticket.
      if (auto kept = kept_.extract(server_name)) SSL_set_session(ssl.get(), kept.mapped().get());
    } else {
      SSL_set_accept_state(ssl.get());
    }
    return std::make_unique<OpenSslSession>(std::move(wire), std::move(ssl), shared_from_this());
  }

 private:
  /// Takes over what a server offers for the next connection to it.
  static int keep(SSL* ssl, SSL_SESSION* session) {
    auto* const self = static_cast<OpenSslContext*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
    const char* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (name == nullptr || (self->kept_.size() >= kMostKept && !self->kept_.contains(name))) return 0;
    // A copy: OpenSSL spoils the session of a connection that ends without close_notify.
    if (SessionPtr copy{SSL_SESSION_dup(session)}) self->kept_[name] = std::move(copy);
    return 0;  // the session itself is not taken over
  }

  /// Requires a certificate for this name or address; the name is also sent to the server (SNI, RFC 6066).
  Result<> expect_name(SSL* ssl, const std::string& name) const {
    if (name.empty()) {
      if (verify_) return fail(Errc::invalid_field, "TLS needs the server's name to check its certificate");
      return {};
    }
    const bool is_address = Address::ip(name, 0).has_value();
    bool accepted = true;
    if (!is_address) accepted = SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
    if (verify_ && is_address) accepted = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1;
    if (verify_ && !is_address) accepted = SSL_set1_host(ssl, name.c_str()) == 1;
    if (!accepted) return fail(Errc::invalid_field, "\"" + name + "\" is not a name for a TLS server");
    return {};
  }

  /// Servers of which a session is kept.
  static constexpr std::size_t kMostKept = 64;

  ContextPtr context_;
  bool is_client_;
  bool verify_;
  std::map<std::string, SessionPtr, std::less<>> kept_;  ///< by the server's name
};

// AES-128 is the fastest, and as safe in practice: it is the first choice of Go and of BoringSSL, too. For TLS 1.2 only
// ciphers with forward secrecy; those of 1.3 all have it.
constexpr const char* kCiphersOf12 = "ECDHE+AESGCM+AES128:ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr const char* kCiphersOf13 = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

ContextPtr new_context(const SSL_METHOD* method) {
  ContextPtr context{SSL_CTX_new(method)};
  if (!context) return context;
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  if (SSL_CTX_set_cipher_list(context.get(), kCiphersOf12) != 1 ||
      SSL_CTX_set_ciphersuites(context.get(), kCiphersOf13) != 1) {
    return nullptr;
  }
  // One read of the socket takes several records.
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_default_read_buffer_len(context.get(), kTakenAtOnce);
  // Idle connections free their buffers for records; a retried write may use another address.
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  return context;
}

BioPtr memory_bio(const std::string& text) {
  return BioPtr{BIO_new_mem_buf(text.data(), static_cast<int>(std::min<std::size_t>(text.size(), INT_MAX)))};
}

Result<> trust_pem(SSL_CTX* context, const std::string& pem) {
  const BioPtr bio = memory_bio(pem);
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  std::size_t count = 0;
  while (CertificatePtr certificate{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    if (X509_STORE_add_cert(store, certificate.get()) != 1) return bad_setting("the CA data");
    ++count;
  }
  if (count == 0) return bad_setting("the CA data holds no certificate");
  ERR_clear_error();
  return {};
}

/// Loads a leaf certificate with its chain, and its key, all PEM.
Result<> use_certificate(SSL_CTX* context, const std::string& chain_pem, const std::string& key_pem) {
  const BioPtr chain = memory_bio(chain_pem);
  const CertificatePtr leaf{PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr)};
  if (!leaf || SSL_CTX_use_certificate(context, leaf.get()) != 1) return bad_setting("the certificate");
  while (CertificatePtr link{PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr)}) {
    if (SSL_CTX_add1_chain_cert(context, link.get()) != 1) return bad_setting("the certificate's chain");
  }
  ERR_clear_error();
  const BioPtr key_bio = memory_bio(key_pem);
  const KeyPtr key{PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr)};
  if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1) return bad_setting("the certificate's key");
  return {};
}

/// Takes http/1.1 of the protocols of a client, and no other.
int select_http1(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                 unsigned offered_size, void*) {
  static constexpr std::array<unsigned char, 9> kOwn{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* found = nullptr;
  const int result = SSL_select_next_proto(&found, size, kOwn.data(), kOwn.size(), offered, offered_size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::server(const TlsServerSettings& settings) {
  ERR_clear_error();
  ContextPtr context = new_context(TLS_server_method());
  if (!context) return bad_setting("TLS");
  if (settings.only_http1) SSL_CTX_set_alpn_select_cb(context.get(), select_http1, nullptr);
  if (!settings.certificate_pem.empty()) {
    SKIFF_TRY_VOID(use_certificate(context.get(), settings.certificate_pem, settings.key_pem));
    return std::make_shared<OpenSslContext>(std::move(context), false, false);
  }
  if (SSL_CTX_use_certificate_chain_file(context.get(), settings.certificate_file.c_str()) != 1) {
    return bad_setting("certificate file \"" + settings.certificate_file + "\"");
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), settings.key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return bad_setting("key file \"" + settings.key_file + "\"");
  }
  return std::make_shared<OpenSslContext>(std::move(context), false, false);
}

Result<std::shared_ptr<TlsContext>> TlsContext::client(const TlsClientSettings& settings) {
  ERR_clear_error();
  ContextPtr context = new_context(TLS_client_method());
  if (!context) return bad_setting("TLS");
  if (!settings.ca_file.empty() &&
      SSL_CTX_load_verify_locations(context.get(), settings.ca_file.c_str(), nullptr) != 1) {
    return bad_setting("CA file \"" + settings.ca_file + "\"");
  }
  if (!settings.ca_pem.empty()) {
    SKIFF_TRY_VOID(trust_pem(context.get(), settings.ca_pem));
  }
  if (settings.ca_file.empty() && settings.ca_pem.empty() && settings.system_ca) {
    SSL_CTX_set_default_verify_paths(context.get());
  }
  if (!settings.further_ca_pem.empty()) {
    SKIFF_TRY_VOID(trust_pem(context.get(), settings.further_ca_pem));
  }
  if (!settings.certificate_pem.empty()) {
    SKIFF_TRY_VOID(use_certificate(context.get(), settings.certificate_pem, settings.key_pem));
  }
  const bool verify = !settings.insecure_skip_verify;
  SSL_CTX_set_verify(context.get(), verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  auto made = std::make_shared<OpenSslContext>(std::move(context), true, verify);
  if (settings.resumes) made->resume();
  return made;
}

}  // namespace skiff::protocol
