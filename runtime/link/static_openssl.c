#include <stddef.h>

#include <openssl/bio.h>
#include <openssl/core.h>
#include <openssl/core_dispatch.h>

/* For the fully static skiffd only. OpenSSL's default provider names every algorithm that OpenSSL has, so that a linker
   can leave none out. This one takes its place and names those that TLS 1.2 and 1.3 with forward secrecy and AEAD
   ciphers, reading certificates and keys, Ed25519, SHA-2 and random numbers need: 0.8 MB less, and less to attack. What
   is not here can't be fetched, as from an OpenSSL that was built without it (docs/adr/0010). The tables and functions
   below are OpenSSL 3.0's own and have no public header; another OpenSSL that lacks one does not link. */

extern const OSSL_DISPATCH ossl_sha1_functions[], ossl_sha224_functions[], ossl_sha256_functions[],
    ossl_sha384_functions[], ossl_sha512_functions[], ossl_aes128gcm_functions[], ossl_aes256gcm_functions[],
    ossl_aes256ctr_functions[], ossl_aes256ecb_functions[], ossl_aes256cbc_functions[],
    ossl_chacha20_ossl_poly1305_functions[], ossl_hmac_functions[], ossl_kdf_hkdf_functions[],
    ossl_kdf_tls1_3_kdf_functions[], ossl_kdf_tls1_prf_functions[], ossl_ecdh_keyexch_functions[],
    ossl_x25519_keyexch_functions[], ossl_drbg_ctr_functions[], ossl_seed_src_functions[], ossl_ec_keymgmt_functions[],
    ossl_x25519_keymgmt_functions[], ossl_ed25519_keymgmt_functions[], ossl_rsa_keymgmt_functions[],
    ossl_rsapss_keymgmt_functions[], ossl_ecdsa_signature_functions[], ossl_ed25519_signature_functions[],
    ossl_rsa_signature_functions[], ossl_PrivateKeyInfo_der_to_ec_decoder_functions[],
    ossl_SubjectPublicKeyInfo_der_to_ec_decoder_functions[], ossl_type_specific_no_pub_der_to_ec_decoder_functions[],
    ossl_SubjectPublicKeyInfo_der_to_x25519_decoder_functions[], ossl_PrivateKeyInfo_der_to_ed25519_decoder_functions[],
    ossl_SubjectPublicKeyInfo_der_to_ed25519_decoder_functions[], ossl_PrivateKeyInfo_der_to_rsa_decoder_functions[],
    ossl_SubjectPublicKeyInfo_der_to_rsa_decoder_functions[], ossl_type_specific_keypair_der_to_rsa_decoder_functions[],
    ossl_PrivateKeyInfo_der_to_rsapss_decoder_functions[], ossl_SubjectPublicKeyInfo_der_to_rsapss_decoder_functions[],
    ossl_pem_to_der_decoder_functions[];

typedef struct prov_ctx_st PROV_CTX;
int ossl_prov_bio_from_dispatch(const OSSL_DISPATCH* core);
int ossl_prov_seeding_from_dispatch(const OSSL_DISPATCH* core);
BIO_METHOD* ossl_bio_prov_init_bio_method(void);
PROV_CTX* ossl_prov_ctx_new(void);
void ossl_prov_ctx_free(PROV_CTX* context);
void ossl_prov_ctx_set0_libctx(PROV_CTX* context, OSSL_LIB_CTX* library);
void ossl_prov_ctx_set0_handle(PROV_CTX* context, const OSSL_CORE_HANDLE* handle);
void ossl_prov_ctx_set0_core_bio_method(PROV_CTX* context, BIO_METHOD* method);
BIO_METHOD* ossl_prov_ctx_get0_core_bio_method(PROV_CTX* context);
int ossl_prov_get_capabilities(void* context, const char* capability, OSSL_CALLBACK* callback, void* argument);

static const char kDefault[] = "provider=default";
#define ROW(names, table) {names, kDefault, ossl_##table##_functions, NULL}
#define END {NULL, NULL, NULL, NULL}

static const OSSL_ALGORITHM kDigests[] = {ROW("SHA1:SHA-1:SSL3-SHA1:1.3.14.3.2.26", sha1),
                                          ROW("SHA2-224:SHA-224:SHA224:2.16.840.1.101.3.4.2.4", sha224),
                                          ROW("SHA2-256:SHA-256:SHA256:2.16.840.1.101.3.4.2.1", sha256),
                                          ROW("SHA2-384:SHA-384:SHA384:2.16.840.1.101.3.4.2.2", sha384),
                                          ROW("SHA2-512:SHA-512:SHA512:2.16.840.1.101.3.4.2.3", sha512),
                                          END};
static const OSSL_ALGORITHM kCiphers[] = {
    ROW("AES-128-GCM:id-aes128-GCM:2.16.840.1.101.3.4.1.6", aes128gcm),
    ROW("AES-256-GCM:id-aes256-GCM:2.16.840.1.101.3.4.1.46", aes256gcm),
    ROW("AES-256-CTR", aes256ctr),                                /* of the random generator */
    ROW("AES-256-ECB:2.16.840.1.101.3.4.1.41", aes256ecb),        /* likewise */
    ROW("AES-256-CBC:AES256:2.16.840.1.101.3.4.1.42", aes256cbc), /* of session tickets */
    ROW("ChaCha20-Poly1305", chacha20_ossl_poly1305),
    END};
static const OSSL_ALGORITHM kMacs[] = {ROW("HMAC", hmac), END};
static const OSSL_ALGORITHM kKdfs[] = {ROW("HKDF", kdf_hkdf), ROW("TLS13-KDF", kdf_tls1_3_kdf),
                                       ROW("TLS1-PRF", kdf_tls1_prf), END};
static const OSSL_ALGORITHM kKeyExchanges[] = {ROW("ECDH", ecdh_keyexch), ROW("X25519:1.3.101.110", x25519_keyexch),
                                               END};
static const OSSL_ALGORITHM kRandoms[] = {ROW("CTR-DRBG", drbg_ctr), ROW("SEED-SRC", seed_src), END};
static const OSSL_ALGORITHM kKeys[] = {ROW("EC:id-ecPublicKey:1.2.840.10045.2.1", ec_keymgmt),
                                       ROW("X25519:1.3.101.110", x25519_keymgmt),
                                       ROW("ED25519:1.3.101.112", ed25519_keymgmt),
                                       ROW("RSA:rsaEncryption:1.2.840.113549.1.1.1", rsa_keymgmt),
                                       ROW("RSA-PSS:RSASSA-PSS:1.2.840.113549.1.1.10", rsapss_keymgmt),
                                       END};
static const OSSL_ALGORITHM kSignatures[] = {ROW("ECDSA", ecdsa_signature),
                                             ROW("ED25519:1.3.101.112", ed25519_signature),
                                             ROW("RSA:rsaEncryption:1.2.840.113549.1.1.1", rsa_signature), END};

#define DECODER(names, structure, table) \
  {names, "provider=default,fips=yes,input=der,structure=" structure, ossl_##table##_decoder_functions, NULL}
static const OSSL_ALGORITHM kDecoders[] = {
    {"DER", "provider=default,fips=yes,input=pem", ossl_pem_to_der_decoder_functions, NULL},
    DECODER("EC:id-ecPublicKey:1.2.840.10045.2.1", "PrivateKeyInfo", PrivateKeyInfo_der_to_ec),
    DECODER("EC:id-ecPublicKey:1.2.840.10045.2.1", "SubjectPublicKeyInfo", SubjectPublicKeyInfo_der_to_ec),
    DECODER("EC:id-ecPublicKey:1.2.840.10045.2.1", "type-specific", type_specific_no_pub_der_to_ec),
    DECODER("X25519:1.3.101.110", "SubjectPublicKeyInfo", SubjectPublicKeyInfo_der_to_x25519),
    DECODER("ED25519:1.3.101.112", "PrivateKeyInfo", PrivateKeyInfo_der_to_ed25519),
    DECODER("ED25519:1.3.101.112", "SubjectPublicKeyInfo", SubjectPublicKeyInfo_der_to_ed25519),
    DECODER("RSA:rsaEncryption:1.2.840.113549.1.1.1", "PrivateKeyInfo", PrivateKeyInfo_der_to_rsa),
    DECODER("RSA:rsaEncryption:1.2.840.113549.1.1.1", "SubjectPublicKeyInfo", SubjectPublicKeyInfo_der_to_rsa),
    DECODER("RSA:rsaEncryption:1.2.840.113549.1.1.1", "type-specific", type_specific_keypair_der_to_rsa),
    DECODER("RSA-PSS:RSASSA-PSS:1.2.840.113549.1.1.10", "PrivateKeyInfo", PrivateKeyInfo_der_to_rsapss),
    DECODER("RSA-PSS:RSASSA-PSS:1.2.840.113549.1.1.10", "SubjectPublicKeyInfo", SubjectPublicKeyInfo_der_to_rsapss),
    END};

static const OSSL_ALGORITHM* query(void* context, int operation, int* no_cache) {
  (void)context;
  *no_cache = 0;
  switch (operation) {
    case OSSL_OP_DIGEST:
      return kDigests;
    case OSSL_OP_CIPHER:
      return kCiphers;
    case OSSL_OP_MAC:
      return kMacs;
    case OSSL_OP_KDF:
      return kKdfs;
    case OSSL_OP_RAND:
      return kRandoms;
    case OSSL_OP_KEYMGMT:
      return kKeys;
    case OSSL_OP_KEYEXCH:
      return kKeyExchanges;
    case OSSL_OP_SIGNATURE:
      return kSignatures;
    case OSSL_OP_DECODER:
      return kDecoders;
    default:
      return NULL;
  }
}

static void teardown(void* context) {
  BIO_meth_free(ossl_prov_ctx_get0_core_bio_method(context));
  ossl_prov_ctx_free(context);
}

static const OSSL_DISPATCH kProvider[] = {
    {OSSL_FUNC_PROVIDER_TEARDOWN, (void (*)(void))teardown},
    {OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))query},
    {OSSL_FUNC_PROVIDER_GET_CAPABILITIES, (void (*)(void))ossl_prov_get_capabilities},
    {0, NULL}};

int ossl_default_provider_init(const OSSL_CORE_HANDLE* handle, const OSSL_DISPATCH* core,
                               const OSSL_DISPATCH** provider, void** context);
int ossl_default_provider_init(const OSSL_CORE_HANDLE* handle, const OSSL_DISPATCH* core,
                               const OSSL_DISPATCH** provider, void** context) {
  OSSL_FUNC_core_get_libctx_fn* library = NULL;
  for (const OSSL_DISPATCH* entry = core; entry->function_id != 0; ++entry) {
    if (entry->function_id == OSSL_FUNC_CORE_GET_LIBCTX) library = OSSL_FUNC_core_get_libctx(entry);
  }
  if (library == NULL || !ossl_prov_bio_from_dispatch(core) || !ossl_prov_seeding_from_dispatch(core)) return 0;
  PROV_CTX* made = ossl_prov_ctx_new();
  BIO_METHOD* method = ossl_bio_prov_init_bio_method();
  if (made == NULL || method == NULL) {
    BIO_meth_free(method);
    ossl_prov_ctx_free(made);
    return 0;
  }
  ossl_prov_ctx_set0_libctx(made, (OSSL_LIB_CTX*)library(handle));
  ossl_prov_ctx_set0_handle(made, handle);
  ossl_prov_ctx_set0_core_bio_method(made, method);
  *context = made;
  *provider = kProvider;
  return 1;
}

/* The provider of encoders and decoders alone: nobody asks for it. */
int ossl_base_provider_init(const OSSL_CORE_HANDLE* handle, const OSSL_DISPATCH* core, const OSSL_DISPATCH** provider,
                            void** context);
int ossl_base_provider_init(const OSSL_CORE_HANDLE* handle, const OSSL_DISPATCH* core, const OSSL_DISPATCH** provider,
                            void** context) {
  (void)handle, (void)core, (void)provider, (void)context;
  return 0;
}

/* The ciphers by name of OpenSSL 1.1, for encrypted key files, which skiffd does not take. */
void openssl_add_all_ciphers_int(void);
void openssl_add_all_ciphers_int(void) {}
