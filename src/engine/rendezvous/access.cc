#include "rendezvous/identity.h"

#include <sodium.h>

#include "base/error.h"

namespace troika::rendezvous {

static_assert(proof_bytes == crypto_auth_hmacsha256_BYTES);

static void start_sodium() {
  if (sodium_init() < 0) throw base::BugError("libsodium finds no source of random bytes");
}

static void add(crypto_auth_hmacsha256_state& state, std::string_view bytes) {
  crypto_auth_hmacsha256_update(&state, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::string new_nonce() {
  start_sodium();
  std::string nonce(nonce_bytes, '\0');
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

std::string new_token() {
  const std::string nonce = new_nonce();
  std::string text(2 * nonce.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), reinterpret_cast<const unsigned char*>(nonce.data()), nonce.size());
  text.pop_back();  // sodium's end of text
  return text;
}

std::string proof(const std::string& secret, Prover prover, std::string_view client_nonce,
                  std::string_view server_nonce, std::string_view launch) {
  if (secret.empty()) return "";
  start_sodium();
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, reinterpret_cast<const unsigned char*>(secret.data()), secret.size());
  add(state, prover == Prover::client ? "troika client" : "troika server");
  for (const std::string_view part : {client_nonce, server_nonce, launch}) add(state, part);
  std::string out(proof_bytes, '\0');
  crypto_auth_hmacsha256_final(&state, reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

bool equal_proofs(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace troika::rendezvous
