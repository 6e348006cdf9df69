#include "rendezvous/identity.h"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "rendezvous/socket.h"
#include "rendezvous/variables.h"

namespace troika::rendezvous {

using base::ConfigError;

static constexpr int default_port = 29500;

static void check(const Identity& me, const std::string& rank, const std::string& size, const std::string& local_rank,
                  const std::string& local_size) {
  const auto below = [](const std::string& a, int value_a, const std::string& b, int value_b) {
    if (value_a >= value_b)
      throw ConfigError(base::say("{} is {} but must be below {}, which is {}", a, value_a, b, value_b));
  };
  below(rank, me.world_rank, size, me.world_size);
  below(local_rank, me.local_rank, local_size, me.local_size);
  if (me.local_size > me.world_size) {
    throw ConfigError(base::say("{} is {} but {} is only {}", local_size, me.local_size, size, me.world_size));
  }
}

static void take_store_of_launcher(Identity& me, const Environment& environment) {
  const std::string& text = environment.at("TROIKA_STORE");
  const Endpoint store = parse_endpoint("TROIKA_STORE", text);
  if (!store.port) throw ConfigError(base::say("TROIKA_STORE is '{}' but must be host:port", text));
  me.source = Identity::Source::troika_launch;
  me.master_address = store.address;
  me.store_port = *store.port;
  me.generation = text_of(environment, "TROIKA_GENERATION", "0");
  me.restarted = me.generation != "0";
  me.launch = text_of(environment, "TROIKA_LAUNCH", "");
}

// MASTER_ADDR, which may hold the port, and MASTER_PORT. Ranks of one host need no address.
static void take_master(Identity& me, const Environment& environment, const std::string& address, int otherwise,
                        int most_port) {
  if (me.local_size == me.world_size) {
    me.store_port = number_of(environment, "MASTER_PORT", otherwise, 1, most_port);
    return;
  }
  const Endpoint master = parse_endpoint("MASTER_ADDR", text_of(environment, "MASTER_ADDR", address));
  me.master_address = master.address;
  me.store_port = number_of(environment, "MASTER_PORT", master.port.value_or(otherwise), 1, most_port);
  if (master.port && *master.port != me.store_port)
    throw ConfigError(base::say("MASTER_ADDR is '{}' but MASTER_PORT is {}: give one port",
                                environment.at("MASTER_ADDR"), me.store_port));
}

static Identity from_rank_variables(const Environment& environment) {
  Identity me;
  me.world_rank = required(environment, "RANK", "WORLD_SIZE", 0);
  me.world_size = required(environment, "WORLD_SIZE", "RANK", 1);
  // torchrun and our launcher set LOCAL_*; by hand they may be left out, then this is the only rank of its host.
  me.local_rank = number_of(environment, "LOCAL_RANK", 0, 0, most_ranks);
  me.local_size = number_of(environment, "LOCAL_WORLD_SIZE", me.local_rank + 1, 1, most_ranks);
  me.node_rank = number_of(environment, "GROUP_RANK", me.world_rank / me.local_size, 0, most_ranks);
  check(me, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE");
  if (has(environment, "TROIKA_STORE")) {
    take_store_of_launcher(me, environment);
    return me;
  }
  me.source = Identity::Source::torchrun;
  me.generation = text_of(environment, "TORCHELASTIC_RESTART_COUNT", "0");
  me.restarted = me.generation != "0";
  me.launch = text_of(environment, "TORCHELASTIC_RUN_ID", "");
  if (me.launch == "none") me.launch.clear();  // of every launch with a static rendezvous
  take_master(me, environment, me.master_address, default_port, 65534);
  ++me.store_port;
  me.hosts_store = me.world_size > 1 && me.world_rank == 0;
  if (me.world_size > 1 && !has(environment, "MASTER_ADDR")) {
    throw ConfigError(base::say(
        "MASTER_ADDR is not set though WORLD_SIZE is {}: set it to the address of rank 0's host", me.world_size));
  }
  return me;
}

namespace {

// The variables that a kind of mpirun leaves in the environment, and how it takes a variable for its ranks.
struct MpiLauncher {
  const char *rank, *size, *local_rank, *local_size, *job, *other_job, *gives_address;
};

constexpr MpiLauncher mpi_launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
     "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "-x MASTER_ADDR=<host of rank 0>"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE", "", "",
     "-genv MASTER_ADDR <host of rank 0>"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "", "", "-genv MASTER_ADDR <host of rank 0>"},
};

}  // namespace

static Identity from_mpirun(const Environment& environment, const MpiLauncher& mpi) {
  Identity me;
  me.source = Identity::Source::mpirun;
  me.world_rank = required(environment, mpi.rank, mpi.size, 0);
  me.world_size = required(environment, mpi.size, mpi.rank, 1);
  me.local_rank = number_of(environment, mpi.local_rank, 0, 0, most_ranks);
  me.local_size = number_of(environment, mpi.local_size, me.local_rank + 1, 1, most_ranks);
  me.node_rank = me.world_rank / me.local_size;
  check(me, mpi.rank, mpi.size, mpi.local_rank, mpi.local_size);
  if (me.local_size < me.world_size && !has(environment, "MASTER_ADDR")) {
    throw ConfigError(
        base::say("MASTER_ADDR is not set but the ranks are on several hosts: give mpirun {}", mpi.gives_address));
  }
  take_master(me, environment, me.master_address, default_port, 65535);
  me.hosts_store = me.world_size > 1 && me.world_rank == 0;
  me.launch = text_of(environment, mpi.job, text_of(environment, mpi.other_job, ""));
  return me;
}

static Identity from_srun(const Environment& environment, const SlurmStep& step) {
  Identity me;
  me.source = Identity::Source::srun;
  me.world_rank = step.rank;
  me.world_size = step.tasks;
  me.local_rank = step.local_rank;
  me.local_size = step.local_tasks;
  me.node_rank = step.node;
  take_master(me, environment, step.first_node, step.port(), 65535);
  me.hosts_store = me.world_size > 1 && me.world_rank == 0;
  me.generation = fmt::format("{}.{}.{}", step.job, step.step, step.restarts);
  me.restarted = step.restarts > 0;
  me.launch = fmt::format("{}.{}", step.job, step.step);
  return me;
}

static constexpr base::Phrase start_launch(
    "start `troika launch -- train ...` in each pod, which starts its processes");

// A pod of a PyTorchJob has RANK, but it counts pods; where each pod is to have one process, both counts agree.
static void refuse_rank_of_pod(const Environment& environment) {
  if (has(environment, "TROIKA_STORE") || has(environment, "LOCAL_RANK") || !has(environment, "PET_NNODES")) return;
  const std::string pods = environment.at("PET_NNODES"), size = text_of(environment, "WORLD_SIZE", "");
  if (size == pods) return;
  const auto shown = [&](const char* name) {
    return has(environment, name) ? base::verbatim(environment.at(name)) : base::say("not set");
  };
  throw ConfigError(
      base::say("RANK is {} and WORLD_SIZE {}, but PET_NNODES is {} and LOCAL_RANK is not set: RANK is the number of "
                "this pod, not of a process; {}",
                shown("RANK"), shown("WORLD_SIZE"), pods, base::say(start_launch)));
}

// PET_* are defaults of a launcher; a process that finds them and no rank would train for itself beside the others.
static void refuse_pod_without_launcher(const Environment& environment) {
  const std::string pods = text_of(environment, "PET_NNODES", "1"),
                    ranks = text_of(environment, "PET_NPROC_PER_NODE", "1");
  std::int64_t number = 0;
  const bool several = base::parse_int(ranks, &number) && number > 1;
  if (pods == "1" && !several) return;
  throw ConfigError(base::say("PET_NNODES is {} and PET_NPROC_PER_NODE is {}, but this process has no rank: {}",
                              pods, ranks, base::say(start_launch)));
}

static Identity from_environment(const Environment& environment) {
  if (has(environment, "RANK") || has(environment, "WORLD_SIZE")) {
    refuse_rank_of_pod(environment);
    return from_rank_variables(environment);
  }
  const std::optional<SlurmStep> step = slurm_step(environment);
  for (const MpiLauncher& mpi : mpi_launchers) {
    // srun --mpi=pmi2 sets PMI_RANK too; Hydra's own processes may run in a step of SLURM and number ranks within the host.
    const bool by_it = has(environment, mpi.rank) || has(environment, mpi.size);
    if (by_it && (!step || has(environment, mpi.local_rank))) return from_mpirun(environment, mpi);
  }
  if (step) return from_srun(environment, *step);
  if (has(environment, "PMIX_RANK"))
    throw ConfigError(
        base::say("PMIX_RANK is set, but the number of ranks is not: set RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE and MASTER_ADDR for each process"));
  refuse_pod_without_launcher(environment);
  return {};
}

Identity identify(const Environment& environment) {
  Identity me = from_environment(environment);
  const bool told = me.source == Identity::Source::troika_launch || me.source == Identity::Source::alone;
  if (me.local_size == me.world_size && !told) me.master_address = loopback_address();
  if (me.world_size > 1) me.secret = secret_of(environment);
  me.slurm_job = slurm_job(environment);
  return me;
}

std::string secret_of(const Environment& environment) {
  constexpr std::size_t fewest = 16;
  const bool in_file = has(environment, "TROIKA_SECRET_FILE");
  if (in_file && has(environment, "TROIKA_SECRET"))
    throw ConfigError(base::say("TROIKA_SECRET and TROIKA_SECRET_FILE are both set: set one of them"));
  std::string secret = text_of(environment, "TROIKA_SECRET", "");
  if (in_file && ::access(environment.at("TROIKA_SECRET_FILE").c_str(), F_OK) != 0)
    throw ConfigError(
        base::say("the value of TROIKA_SECRET_FILE (--secret-file) names no file. It is not printed, because it may be the secret itself: write the secret into a file, or set TROIKA_SECRET"));
  if (in_file) {
    try {
      secret = base::trim(base::read_file(environment.at("TROIKA_SECRET_FILE")));
    } catch (const base::DataError& error) {
      throw ConfigError(base::say("the secret of TROIKA_SECRET_FILE (--secret-file): {}", base::text_of(error)));
    }
  }
  if ((in_file || !secret.empty()) && secret.size() < fewest)
    throw ConfigError(
        base::say("the secret in {} has {} characters, but needs at least {} ('head -c 24 /dev/urandom | base64' makes "
                  "one)",
                  in_file ? base::say("the file of TROIKA_SECRET_FILE") : base::verbatim("TROIKA_SECRET"),
                  secret.size(), fewest));
  return secret;
}

std::optional<base::Text> note_about_secret_file(const Environment& environment) {
  struct stat facts {};
  if (!has(environment, "TROIKA_SECRET_FILE")) return std::nullopt;
  const std::string& path = environment.at("TROIKA_SECRET_FILE");
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  const bool read = (facts.st_mode & S_IROTH) != 0, changed = (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (!read && !changed) return std::nullopt;
  const base::Text what = !changed ? base::say("read") : read ? base::say("read and change") : base::say("change");
  return base::say(
      "the secret file '{0}' has mode {1}: other users of this host can {2} it; `chmod 600 {0}` prevents that",
      path, fmt::format("{:04o}", static_cast<unsigned>(facts.st_mode & 07777)), what);
}

std::string key_of(const Identity& identity, const std::string& name) {
  return fmt::format("{}/{}/{}", identity.launch.empty() ? "-" : identity.launch, identity.generation, name);
}

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
