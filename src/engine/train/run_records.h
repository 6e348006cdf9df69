// A rank's records of its run for those who watch it: samples of itself every few seconds, events, and the run's state. Formats:
// docs/formats/records.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "comm/traffic.h"
#include "plan/plan.h"
#include "records/event.h"
#include "rendezvous/gatherer.h"
#include "records/line_file.h"
#include "records/run_state.h"
#include "records/sample.h"
#include "rendezvous/identity.h"
#include "rendezvous/ticker.h"
#include "tensor/ledger.h"
#include "train/rank_activity.h"

namespace troika::train {

// Threads: samples are taken by a thread of its own, also while the rank's waits; event() and notice() from any, the rest from the
// rank's. Nobody waits for the disk, and one that is full or fails ends no run.
class RunRecords {
 public:
  struct Place {
    std::string folder;  // of the run, on this host
    int rank = 0, local_rank = 0;
    int attempt = 0;
    std::string launch;
    std::string slurm_job;
    double sample_seconds = 5;  // 0: no samples
  };
  // Tells the host of the store what only this host's disk has: `name` is a key of the attempt. May be empty.
  using Publish = std::function<void(const std::string& name, const std::string& text)>;

  // `rank_activity` must outlive it; `traffic` may be null.
  RunRecords(const Place& place, const RankActivity& rank_activity, std::shared_ptr<const comm::Traffic> traffic,
             Publish publish);
  ~RunRecords();  // with a last sample

  // Sets another listener for every event that this rank writes; called before there is one.
  void also_tell(std::function<void(const records::Event&)> also) { also_ = std::move(also); }

  // Events of the run as a whole: rank 0 writes them, the others nothing.
  void event(records::EventKind kind, std::int64_t step, const base::Text& text,
             const std::map<std::string, double>& numbers = {}, base::Cause cause = base::Cause{});
  // Notices of the watch over ranks, which all ranks hear: the first rank of each host writes them.
  void notice(const records::Incident& notice);
  // This rank ends with an error: to its host's folder, and to that of the store's host. Before prepares() nothing is written where another
  // run or launch has the folder.
  void failed(int exit_code, const base::Text& text, base::Cause cause);

  // The process ends at once, because it was asked to twice: its last state is on the disk, where that answers within 2 s. Another
  // thread may be in any call of the others.
  void ended_at_once();

  // The folder is another run's now: nothing more is written there.
  void leave_folder();

  // The text that rank 0 has shown its user, in English: to RUN/run.log.
  void told(const std::string& text);

  // The bytes held now, for the samples.
  void hold(const tensor::Ledger& ledger);

  // Brings what the ranks of other hosts say to this host's folder, where no launcher of ours does: on the host of the store.
  void gather(const rendezvous::Identity& identity);

  // The state of the run, written by the first rank of each host.
  void prepares(const std::vector<records::RankPlace>& ranks);
  void planned(const plan::Plan& plan, const records::ThreadUse& threads);
  // `steps` of the whole run: they may differ from the plan's after a resume. `predicted_seconds` of a step; 0: not predicted.
  void begins(std::int64_t first_step, std::int64_t steps, double predicted_seconds);
  void ends(records::Life life, const std::string& text, int exit_code);

 private:
  records::Event event_of(records::EventKind kind, std::int64_t step, const std::string& text) const;
  void write(const records::Event& event);
  void post(std::function<void()> job);
  records::Sample sample();
  void take_sample();
  void write_state(records::Life life);
  bool first_of_host() const { return place_.local_rank == 0; }

  const Place place_;
  const std::string host_;
  const RankActivity& rank_activity_;
  const std::shared_ptr<const comm::Traffic> traffic_;
  const Publish publish_;
  std::function<void(const records::Event&)> also_;
  const std::shared_ptr<records::LineWriter> samples_, events_, log_;  // of the disk's thread
  const std::shared_ptr<std::atomic<double>> disk_free_bytes_ = std::make_shared<std::atomic<double>>(-1);
  const double begin_;  // base::monotonic_seconds()
  std::int64_t taken_ = 0;
  bool prepared_ = false;  // the folder is this run's: nothing is written before
  std::atomic<bool> left_{false};
  records::RunState state_;

  std::mutex mutex_;  // guards the next
  std::map<std::string, std::int64_t> memory_;
  records::ThreadUse threads_;

  std::unique_ptr<rendezvous::Gatherer> gatherer_;
  records::BackgroundDisk disk_;
  std::unique_ptr<rendezvous::Ticker> ticker_;  // last: its thread uses the members above
};

base::Text all_steps_are_done(std::int64_t steps);  // "all 60 steps are done"

}  // namespace troika::train
