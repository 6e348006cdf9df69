// A launcher's records in its run's folder, for those who ask afterwards: attempts, ranks of its host that failed, the
// failure report. Formats: docs/formats/records.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "host/vitals.h"
#include "host/worker.h"
#include "records/line_file.h"
#include "records/event.h"
#include "records/run_state.h"
#include "rendezvous/failure_report.h"

namespace troika::launch {

// The rank of this host that a process is.
records::Party party_of(const host::Worker& worker);
// How it ended. `memory_kills`: by the out-of-memory killer, shortly before.
records::Incident end_of(const host::Worker& worker, std::int64_t memory_kills);

// Threads: one. Nobody waits for the disk, and one that is full or fails ends nothing.
class LaunchRecords {
 public:
  // Also hears of each event, whether it is written or not; called from the launcher's thread.
  using Also = std::function<void(const records::Event&)>;
  // `folder`: of the run; "": nothing is written, as where another run is under way in it. Before the first word the folder's record
  // is claimed for this launch (records/folder_lock.h) until the end; where that fails nothing is written unless ranks of this launch
  // come to hold the folder. `also` may be empty.
  LaunchRecords(std::string folder, int node_rank, Also also = {});
  LaunchRecords(const LaunchRecords&) = delete;
  LaunchRecords& operator=(const LaunchRecords&) = delete;

  // An attempt of this launch begins: counters of the host count from here. The event says which process launches.
  void attempt_begins(int attempt, const std::string& launch, const base::Text& text);
  // A rank of this host has ended badly; `memory_kills` by the out-of-memory killer shortly before, negative where nobody counts.
  // Returns the event, for the other hosts; "" without a folder.
  std::string rank_ended(const host::Worker& worker, std::int64_t memory_kills);
  // The report that ends the attempt, or the launch before there was one.
  void failed(const rendezvous::FailureReport& report);
  // The same, once the ranks have ended: one that failed on its own meanwhile has written its own words over the report's.
  void has_failed(const rendezvous::FailureReport& report);
  // The ranks were killed because somebody asked twice: none of them could say that the run has stopped.
  void ended_at_once(const base::Text& text);
  // The ranks have ended because somebody asked: where none has said so, as before the first step, the state says it now.
  void stopped();
  void said(records::EventKind kind, const base::Text& text, const std::map<std::string, double>& numbers = {});

  const std::string& folder() const { return folder_; }
  // The record in the folder is this launch's. Threads: any.
  std::function<bool()> claimed() const;
  void flush();  // waits for the disk, 2 s at most

 private:
  struct Lines;

  void write(const records::Event& event);
  void post(std::function<void(Lines&)> job);
  void end_state(records::Life life, const rendezvous::FailureReport& report);
  records::Event event_of(records::EventKind kind, const records::Incident& incident) const;

  const std::string folder_;
  const std::string host_;
  const int node_rank_;
  const Also also_;
  int attempt_ = 0;
  std::string launch_;
  host::Vitals before_;
  const std::shared_ptr<Lines> lines_;  // of the disk's thread
  records::BackgroundDisk disk_;
};

}  // namespace troika::launch
