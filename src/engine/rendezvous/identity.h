// The identity of this process: its rank, from the environment that a launcher left, or alone; and what lets it use the store.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/language.h"

namespace troika::rendezvous {

struct Identity {
  enum class Source { alone, troika_launch, torchrun, mpirun, srun };
  Source source = Source::alone;
  int world_rank = 0;
  int world_size = 1;
  int local_rank = 0;  // among the ranks of this host
  int local_size = 1;
  int node_rank = 0;
  std::string master_address = "127.0.0.1";
  int store_port = 0;            // where our store listens; 0: not decided (alone)
  bool hosts_store = false;      // this rank must start the store server (no launcher of ours does)
  std::string generation = "0";  // key prefix: differs between attempts of one launcher
  std::string launch;            // alike in all attempts of one launch and in no other launch; "": not known
  std::string secret;            // of the store; "": none
  std::string slurm_job;         // "71.0" in a step of SLURM, "71" in a job outside of one, "": in none
  bool restarted = false;        // not the first attempt of its launch
};

// RANK/WORLD_SIZE first (ours when TROIKA_STORE is set, else torchrun: then the agent holds MASTER_PORT and ours is
// MASTER_PORT + 1), then Open MPI, MVAPICH, Hydra (MPICH, Intel), then SLURM_* only in a task of a step (variables.h), else alone.
// Ranks that are all on one host meet at its loopback. The secret is that of secret_of. Throws ConfigError for contradictory or
// malformed values, naming the variable, and in a pod that was given PET_* for a launcher and no rank of its own.
Identity identify(const std::map<std::string, std::string>& environment);

// TROIKA_SECRET, or what the file TROIKA_SECRET_FILE holds; "" where neither is set. ConfigError when both are, when the file
// cannot be read, and when a secret is shorter than 16 characters.
std::string secret_of(const std::map<std::string, std::string>& environment);

// A note on a secret's file that others than owner and group can read, or others than the owner can change: they know the secret.
std::optional<base::Text> note_about_secret_file(const std::map<std::string, std::string>& environment);

// The key `name` of this attempt: "<launch>/<generation>/" + name.
std::string key_of(const Identity& identity, const std::string& name);

// The processes that may use a store: those of one launch, and where a secret is given only those that know it.
// docs/security.md describes what this keeps out, and what not.
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
