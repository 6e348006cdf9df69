// The common part of the verbs that compute on all ranks: who speaks, threads and device, the meeting, how they end.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/say.h"
#include "config/resolve.h"
#include "data/opened_samples.h"
#include "metrics/run_log.h"
#include "plan/memory_check.h"
#include "records/sample.h"
#include "rendezvous/join.h"
#include "rendezvous/identity.h"
#include "tensor/streams.h"
#include "tensor/tensor.h"
#include "train/session.h"

namespace troika::train {

// The things that a rank brings along.
struct RankContext {
  config::Resolved resolved;
  std::vector<base::Text> notes;  // of the command line, shown by rank 0
  rendezvous::Identity identity;
  std::FILE* screen = nullptr;                        // of this process; only rank 0 writes to it
  base::Language language = base::Language::english;  // of the screen; logs and records are in English
  std::vector<std::string> device_variables;          // rank_device.h
  std::string machine_file;                           // planner::machine_file of this host; "": none
  // A request for the rank's status (SIGUSR1) calls `answer` on another thread, until another one is given or {}; then none
  // is called any more. May be empty: nobody asks.
  std::function<void(std::function<void()> answer)> answer_status;
};

struct Machine {
  tensor::Device device{tensor::Device()};
  int threads = 1;
  std::shared_ptr<tensor::Streams> streams;  // of the device
  // The backend that carries tensors between devices: gloo or nccl.
  config::Backend backend = config::Backend::gloo;
};

void say(const RankContext& context, const base::Text& text);           // rank 0, to its screen
std::unique_ptr<metrics::RunLog> open_log(const RankContext& context);  // null without train.out

struct DataRequest {
  std::string stated;  // data.train or data.valid
  std::string cache;   // where what is tokenized goes
  data::Reading reading;
  const config::DataSettings& settings;
};
// The data that the request names, in samples of the settings' seq_len, with a report and progress on the screen. Not collective: the first process of a host tokenizes, the others wait,
// and each rank's log says for whom.
data::OpenedSamples open_data(const RankContext& context, const DataRequest& request,
                              const tokenizer::Tokenizer& tokenizer);

// ConfigError when the rank's device is not there (rank_device.h): before long work on the data.
void check_rank_device(const RankContext& context);

// Sets the threads of this rank, takes its device and decides what carries its tensors; rank 0 says it where that is slower than
// it could be. ConfigError when the settings ask
// for what is not there.
Machine prepare_machine(const RankContext& context);
records::ThreadUse thread_use(const Machine& machine);  // how this rank uses the processor
std::string describe(const records::ThreadUse& use);      // the same for its log

// The facts that must be equal on all ranks before they may compute together. `data`: a fingerprint.
rendezvous::Facts settings_facts(const config::Settings& settings, const std::string& data, const Machine& machine);
// The same with what was decided on this machine written in. All ranks have agreed on it.
config::Resolved decided(config::Resolved resolved, const Machine& machine);
rendezvous::Facts program_facts(const plan::Plan& plan);

// ConfigError when this rank needs more than its share of the memory that is free, of its GPU and of the host.
void check_free_memory(const RankContext& context, const plan::Plan& plan, const Machine& machine);
// The memory this rank and those beside it may use in all where it computes, of its device or the host: what is free, on the host
// with what its process has already of it, as a plan counts the program, too. Nothing: it is not known.
std::optional<plan::Room> room_of_rank(const RankContext& context, const Machine& machine);
plan::Room::Where place_of(const tensor::Device& device);  // the host or a GPU
std::int64_t free_host_bytes(const RankContext& context);  // this rank's share of what is free; -1: not known
// Checks what a GPU need not repeat to the last bit against parallel.reproducible: rank 0 notes it, or ConfigError.
void check_gpu_bits(const RankContext& context, const plan::Plan& plan, const Machine& machine);
// ConfigError when the plan's messages cannot go over the machine's backend.
void check_messages(const plan::Plan& plan, const Machine& machine);
// Collective: builds the groups, after all have agreed; rank 0 says how ranks that compute differently matter.
void connect(Session& session, const RankContext& context, const mesh::Shape& shape, const Machine& machine);

// The cause that ends a rank. A PeerError that tells no cause is a connection that broke.
base::Cause cause_of(const std::exception& error);
base::Text text_of(const std::exception& error);

// Runs `body` in a session of its own. Errors are the four kinds, one sentence each; the first cause is named when
// another rank failed first. What else is known (context, the last messages) goes to the rank's log. Under our launcher, which
// reads errors from the store and shows them once for all ranks, an error that reached it becomes only its exit code, which
// is returned; else 0.
int in_session(const RankContext& context, const std::function<void(Session&)>& body);

}  // namespace troika::train
