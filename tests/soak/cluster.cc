#include "soak/cluster.h"

#include "base/clock.h"
#include "base/file.h"
#include "rendezvous/store.h"

namespace troika::soak {

Cluster::Cluster(const Setting& setting, const Layout& layout, const std::string& folder)
    : setting_(setting),
      layout_(layout),
      folder_(folder),
      mark_("TROIKA_SOAK=" + folder),
      port_(rendezvous::StoreServer(0).port()),
      launchers_(static_cast<std::size_t>(layout.hosts)),
      ended_at_(static_cast<std::size_t>(layout.hosts)),
      starts_(static_cast<std::size_t>(layout.hosts)) {
  base::make_directories(folder);
}

void Cluster::start(int host) {
  const auto text = [](auto number) { return std::to_string(number); };
  std::vector<std::string> words = {setting_.programs + "/troika",
                                    "launch",
                                    "--nnodes",
                                    text(layout_.hosts),
                                    "--node-rank",
                                    text(host),
                                    "--nproc-per-node",
                                    text(layout_.ranks_per_host),
                                    "--master-addr",
                                    "127.0.0.1",
                                    "--master-port",
                                    text(port_),
                                    "--max-restarts",
                                    "5",
                                    "--join-timeout",
                                    "30",
                                    "--bind",
                                    "none",
                                    "--",
                                    "train"};
  const std::vector<std::string> training = {"--data.train",
                                             setting_.corpus,
                                             "--data.valid",
                                             setting_.valid,
                                             "--data.tokenizer",
                                             "bytes",
                                             "--seq-len",
                                             "32",
                                             "--micro-batch-size",
                                             "1",
                                             "--global-batch-size",
                                             "8",
                                             "--steps",
                                             text(setting_.steps),
                                             "--seed",
                                             "7",
                                             "--model.layers",
                                             "4",
                                             "--model.hidden",
                                             "64",
                                             "--model.heads",
                                             "4",
                                             "--model.kv-heads",
                                             "2",
                                             "--model.head-dim",
                                             "16",
                                             "--model.ffn",
                                             "192",
                                             "--model.vocab",
                                             "259",
                                             "--train.threads",
                                             "1",
                                             "--train.eval-every",
                                             text(setting_.evaluate_every),
                                             "--checkpoint.every",
                                             text(setting_.save_every),
                                             "--checkpoint.keep",
                                             "100",
                                             "--comm.heartbeat-seconds",
                                             text(setting_.heartbeat_seconds),
                                             "--comm.join-seconds",
                                             text(setting_.join_seconds),
                                             "--comm.shared_memory",
                                             layout_.hosts > 1 ? "off" : "auto",  // as on hosts of their own
                                             "--log.progress",
                                             "none",
                                             "--out",
                                             run_folder(host)};
  words.insert(words.end(), training.begin(), training.end());
  words.insert(words.end(), layout_.words.begin(), layout_.words.end());
  const auto at = static_cast<std::size_t>(host);
  ++starts_[at];
  launchers_[at].reset();
  launchers_[at] = std::make_unique<Process>(
      words, std::vector<std::string>{mark_, "OMP_NUM_THREADS=1"}, output_path(host));
}

bool Cluster::look_after() {
  constexpr int most_starts = 12;
  constexpr double pause_seconds = 0.1;  // as systemd's
  for (int host = 0; host < layout_.hosts; ++host) {
    const auto code = launcher(host).ended();
    if (!code || *code == 0) continue;
    const double now = base::monotonic_seconds();
    double& ended = ended_at_[static_cast<std::size_t>(host)];
    if (ended == 0) ended = now;
    if (now - ended < pause_seconds) continue;
    ended = 0;
    codes_.push_back(*code);
    if (starts_[static_cast<std::size_t>(host)] == most_starts) return false;
    start(host);
  }
  return true;
}

bool Cluster::finished() {
  for (const auto& launcher : launchers_)
    if (launcher->ended() != 0) return false;
  return true;
}

pid_t Cluster::rank(int rank) const {
  const auto found = processes_with({mark_, "RANK=" + std::to_string(rank)});
  return found.empty() ? 0 : found.front();
}

}  // namespace troika::soak
