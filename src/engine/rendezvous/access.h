// Who may use a store: the processes of one launch, and where a secret is given only those that know it. What this keeps out,
// and what not, stands in docs/security.md.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace troika::rendezvous {

struct Access {
  std::optional<std::string> launch = "";  // its id; "": none is known. A client without a value takes the store's
  std::string secret;                      // alike in all processes of a launch; "": there is none
};

inline constexpr std::size_t nonce_bytes = 16, proof_bytes = 32;

// Bytes that nobody foresees.
std::string new_nonce();
std::string new_token();  // the same as text: hexadecimal digits

// That its sender knows the secret, for this meeting alone: HMAC-SHA-256 over who proves it, both nonces and the launch. ""
// without a secret.
enum class Prover { client, server };
std::string proof(const std::string& secret, Prover prover, std::string_view client_nonce,
                  std::string_view server_nonce, std::string_view launch);

// Compares without telling by its time where they differ.
bool equal_proofs(std::string_view a, std::string_view b);

}  // namespace troika::rendezvous
