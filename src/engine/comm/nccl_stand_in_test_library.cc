// Stands in for libnccl in tests: the same functions over host memory and fake lanes, between
// ranks that are threads of one process.
//
// It is as strict as NCCL allows itself to be. Everything is in progress until it is asked about again; the first
// operation of a communicator until every rank has asked for one. A send buffers nothing. Operations pair by order;
// sizes that differ are an error of both sides. An abort is not seen by the others. The end of a communicator waits until no
// operation of another one of its device is under way; aborts of one group have all been told to stop before the first waits.
// What NCCL forbids ends the process with a message.
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/nccl_api.h"
#include "tensor/fake_lane_test_support.h"

using troika::comm::nccl::Config;
using troika::comm::nccl::DataType;
using troika::comm::nccl::Operator;
using troika::comm::nccl::Result;
using troika::comm::nccl::Stream;
using troika::comm::nccl::UniqueId;
using troika::tensor::FakeLane;
using troika::tensor::FakeWork;

namespace {

struct Clique;

// One rank's end of a communicator.
struct End {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  std::mutex busy;  // never waited for: two threads at once are forbidden
  const void* device = nullptr;  // null: it has not been asked for an operation
  // guarded by the clique's mutex
  Result error = Result::success;
  bool gone = false;
  std::size_t by_root = 0;  // broadcasts and sums that it asked for
};
using EndPtr = std::shared_ptr<End>;

enum class Kind { send, recv };

struct Operation {
  EndPtr end;
  Kind kind = Kind::send;
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t bytes = 0;
  int peer = 0;
  bool ordered = false;
  std::optional<DataType> adds;  // a recv that adds such numbers
  bool arrived = false, done = false;
};
using OperationPtr = std::shared_ptr<Operation>;

struct Clique {
  explicit Clique(int ranks) : size(ranks), connected(static_cast<std::size_t>(ranks)) {}
  std::mutex mutex;
  const int size;
  int joined = 0;
  std::vector<std::pair<int, std::size_t>> by_root;                      // in the one order of all ranks: root, bytes
  std::vector<bool> connected;                                           // by rank: has asked for an operation
  std::map<std::pair<int, int>, std::deque<OperationPtr>> sends, recvs;  // by (from, to): at the head of their lanes
};

[[noreturn]] void misused(const char* what) {
  std::fprintf(stderr, "the stand-in for NCCL was misused: %s\n", what);
  std::abort();
}

void finish(Operation& operation, Result result) {
  operation.done = true;
  if (result != Result::success) operation.end->error = result;
}

template <class Number>
void add(const Operation& send, const Operation& recv) {
  const auto* share = static_cast<const Number*>(send.from);
  auto* sum = static_cast<Number*>(recv.to);
  for (std::size_t i = 0; i < send.bytes / sizeof(Number); ++i) sum[i] += share[i];
}

void move(Operation& send, Operation& recv) {
  const bool equal = send.bytes == recv.bytes;
  if (equal && send.ordered && recv.ordered && send.bytes > 0) {
    if (recv.adds == DataType::int64)
      add<std::uint64_t>(send, recv);
    else if (recv.adds)
      add<float>(send, recv);
    else
      std::memcpy(recv.to, send.from, send.bytes);
  }
  for (Operation* each : {&send, &recv}) finish(*each, equal ? Result::success : Result::invalid_usage);
}

// The memory that a recv overwrites belongs to it from the moment it is asked for.
void spoil(const Operation& operation) {
  if (operation.kind == Kind::recv && !operation.adds && operation.bytes > 0) std::memset(operation.to, troika::tensor::poison, operation.bytes);
}

void arrive(Clique& clique, const OperationPtr& operation) {
  spoil(*operation);
  const bool sends = operation->kind == Kind::send;
  const int me = operation->end->rank;
  const auto pair = sends ? std::make_pair(me, operation->peer) : std::make_pair(operation->peer, me);
  auto& mine = (sends ? clique.sends : clique.recvs)[pair];
  auto& theirs = (sends ? clique.recvs : clique.sends)[pair];
  mine.push_back(operation);
  if (theirs.empty()) return;
  move(sends ? *mine.front() : *theirs.front(), sends ? *theirs.front() : *mine.front());
  mine.pop_front();
  theirs.pop_front();
}

// The operations of one group in one stream: they start together and the stream continues when all are done.
class Kernel final : public FakeWork {
 public:
  Kernel(const void* device, std::vector<OperationPtr> operations)
      : device_(device), operations_(std::move(operations)) {
    const std::lock_guard<std::mutex> lock(kernels().mutex);
    kernels().all.insert(this);
  }
  ~Kernel() override {
    const std::lock_guard<std::mutex> lock(kernels().mutex);
    kernels().all.erase(this);
    kernels().changed.notify_all();
  }
  bool try_to_do() override {
    bool all_done = true;
    for (const OperationPtr& operation : operations_) {
      End& end = *operation->end;
      const std::lock_guard<std::mutex> lock(end.clique->mutex);
      if (!end.gone && end.error == Result::success && !std::exchange(operation->arrived, true)) {
        arrive(*end.clique, operation);
      }
      all_done = all_done && (operation->done || end.gone || end.error != Result::success);
    }
    return all_done;
  }
  bool can_move() override {
    return !stands() || std::any_of(operations_.begin(), operations_.end(), [](const OperationPtr& operation) {
      return !operation->arrived;  // which this work alone sets
    });
  }

  // Until none on the device is under way.
  static void await_end(const void* device) {
    std::unique_lock<std::mutex> lock(kernels().mutex);
    kernels().changed.wait(lock, [&] {
      const auto& all = kernels().all;
      return std::none_of(all.begin(), all.end(), [&](const Kernel* k) { return k->device_ == device && k->stands(); });
    });
  }
  static void one_was_told_to_stop() {
    const std::lock_guard<std::mutex> lock(kernels().mutex);
    kernels().changed.notify_all();
  }

 private:
  struct Kernels {
    std::mutex mutex;
    std::condition_variable changed;
    std::set<const Kernel*> all;
  };
  static Kernels& kernels() {  // never destroyed: a thread may wait while the process ends
    static auto* const made = new Kernels;
    return *made;
  }

  bool stands() const {
    return std::any_of(operations_.begin(), operations_.end(), [](const OperationPtr& operation) {
      const End& end = *operation->end;
      const std::lock_guard<std::mutex> lock(end.clique->mutex);
      return !operation->done && !end.gone && end.error == Result::success;
    });
  }

  const void* const device_;
  std::vector<OperationPtr> operations_;
};

struct Asked {
  FakeLane* lane;
  OperationPtr operation;
};

}  // namespace

namespace troika::comm::nccl {
struct Comm {
  EndPtr end = std::make_shared<End>();
  bool initialised = false;
  std::vector<Asked> asked;  // not in their lanes yet
};
}  // namespace troika::comm::nccl
using troika::comm::nccl::Comm;

namespace {

std::mutex registry_mutex;
std::map<std::string, std::shared_ptr<Clique>> cliques;  // by id
std::vector<std::unique_ptr<Comm>> comms;                // all there ever were: so that late calls are seen
int broadcasts = 0, sums = 0;                            // asked for
std::map<int, int> max_ctas;                             // by the size of a communicator: what the last one asked for

thread_local int group_depth = 0;
thread_local std::vector<std::pair<Comm*, Asked>> group;
thread_local std::vector<Comm*> aborted;  // by the group

// A call on a communicator.
class Call {
 public:
  explicit Call(Comm* comm) : end_(*comm->end), alone_(end_.busy, std::try_to_lock) {
    if (!alone_.owns_lock()) misused("two threads call the same communicator at once");
    const std::lock_guard<std::mutex> lock(end_.clique->mutex);
    if (end_.gone) misused("a communicator is used after its end");
  }

 private:
  End& end_;
  std::unique_lock<std::mutex> alone_;
};

bool in_progress(Comm& comm) {
  const std::lock_guard<std::mutex> lock(comm.end->clique->mutex);
  return !comm.initialised || !comm.asked.empty();
}

// Initialisation and launches continue when they are asked about.
Result move_on(Comm& comm) {
  End& end = *comm.end;
  std::vector<Asked> launched;
  {
    const std::lock_guard<std::mutex> lock(end.clique->mutex);
    if (end.error != Result::success) return end.error;
    comm.initialised = comm.initialised || end.clique->joined == end.clique->size;
    if (!comm.initialised) return Result::in_progress;
    for (const bool connected : end.clique->connected) {
      if (!comm.asked.empty() && !connected) return Result::in_progress;
    }
    launched.swap(comm.asked);
  }
  std::map<FakeLane*, std::vector<OperationPtr>> kernels;
  for (const Asked& one : launched) kernels[one.lane].push_back(one.operation);
  for (auto& [lane, operations] : kernels) lane->push(std::make_unique<Kernel>(lane->device(), std::move(operations)));
  return Result::success;
}

Result ask(Comm* comm, Stream stream, Operation operation) {
  const Call call(comm);
  if (group_depth == 0) misused("an operation outside of a group");
  if (in_progress(*comm)) return Result::invalid_argument;
  auto* lane = static_cast<FakeLane*>(stream);
  operation.end = comm->end;
  comm->end->device = lane->device();
  operation.ordered = lane->ordered();
  if (lane->open_to_host()) spoil(operation);
  group.push_back({comm, {lane, std::make_shared<Operation>(std::move(operation))}});
  return Result::success;
}

void note_by_root(End& end, std::pair<int, std::size_t> one) {
  const std::lock_guard<std::mutex> lock(end.clique->mutex);
  auto& all = end.clique->by_root;
  if (end.by_root == all.size()) all.push_back(one);
  if (all[end.by_root++] != one) misused("ranks ask for different broadcasts or sums");
}

// Their memory belongs to others from now on.
void forget(std::deque<OperationPtr>& queue, const EndPtr& end) {
  const auto of_end = [&](const OperationPtr& operation) { return operation->end == end; };
  queue.erase(std::remove_if(queue.begin(), queue.end(), of_end), queue.end());
}

}  // namespace

extern "C" {

Result ncclGetVersion(int* version) {
  *version = 22809;
  return Result::success;
}

Result ncclGetUniqueId(UniqueId* id) {
  static int made = 0;
  const std::lock_guard<std::mutex> lock(registry_mutex);
  std::memset(id->bytes, 0, sizeof id->bytes);
  std::snprintf(id->bytes, sizeof id->bytes, "stand-in %d", ++made);
  return Result::success;
}

Result ncclCommInitRankConfig(Comm** made, int size, UniqueId id, int rank, Config* config) {
  if (config->blocking != 0) misused("a blocking communicator");
  const std::lock_guard<std::mutex> lock(registry_mutex);
  auto& clique = cliques[std::string(id.bytes, sizeof id.bytes)];
  if (clique == nullptr) clique = std::make_shared<Clique>(size);
  if (clique->size != size || rank < 0 || rank >= size) return Result::invalid_argument;
  max_ctas[size] = config->max_ctas;
  comms.push_back(std::make_unique<Comm>());
  *made = comms.back().get();
  (*made)->end->clique = clique;
  (*made)->end->rank = rank;
  const std::lock_guard<std::mutex> lock_clique(clique->mutex);
  ++clique->joined;
  return Result::in_progress;
}

int standInMaxCtas(int size) {
  const std::lock_guard<std::mutex> lock(registry_mutex);
  return max_ctas[size];
}

int standInBroadcasts() {
  const std::lock_guard<std::mutex> lock(registry_mutex);
  return broadcasts;
}

int standInSums() {
  const std::lock_guard<std::mutex> lock(registry_mutex);
  return sums;
}

Result ncclCommGetAsyncError(Comm* comm, Result* error) {
  const Call call(comm);
  *error = move_on(*comm);
  return Result::success;
}

static void tell_to_stop(Comm* comm) {
  const Call call(comm);
  Clique& clique = *comm->end->clique;
  const std::lock_guard<std::mutex> lock(clique.mutex);
  comm->end->gone = true;
  for (auto* queues : {&clique.sends, &clique.recvs}) {
    for (auto& [pair, queue] : *queues) forget(queue, comm->end);
  }
}

static Result end(const std::vector<Comm*>& ended) {
  for (Comm* comm : ended) tell_to_stop(comm);
  Kernel::one_was_told_to_stop();
  for (const Comm* comm : ended) {
    if (comm->end->device != nullptr) Kernel::await_end(comm->end->device);
  }
  return Result::success;
}

Result ncclCommAbort(Comm* comm) {
  if (group_depth == 0) return end({comm});
  aborted.push_back(comm);
  return Result::success;
}

Result ncclCommDestroy(Comm* comm) {
  if (in_progress(*comm)) misused("a communicator is destroyed while it is in progress");
  return end({comm});
}

const char* ncclGetErrorString(Result result) {
  return result == Result::invalid_usage      ? "invalid usage"
         : result == Result::invalid_argument ? "invalid argument"
                                              : "?";
}

const char* ncclGetLastError(Comm*) { return "told by the stand-in"; }

Result ncclGroupStart() {
  ++group_depth;
  return Result::success;
}

Result ncclGroupEnd() {
  if (group_depth == 0) misused("the end of a group that has no start");
  if (--group_depth > 0) return Result::success;
  for (auto& [comm, asked] : std::exchange(group, {})) {
    const std::lock_guard<std::mutex> lock(comm->end->clique->mutex);
    comm->end->clique->connected[static_cast<std::size_t>(comm->end->rank)] = true;
    comm->asked.push_back(std::move(asked));
  }
  end(std::exchange(aborted, {}));
  return Result::in_progress;
}

Result ncclSend(const void* from, std::size_t count, DataType, int peer, Comm* comm, Stream stream) {
  Operation operation;
  operation.kind = Kind::send;
  operation.from = from;
  operation.bytes = count;
  operation.peer = peer;
  return ask(comm, stream, operation);
}

Result ncclRecv(void* to, std::size_t count, DataType, int peer, Comm* comm, Stream stream) {
  Operation operation;
  operation.kind = Kind::recv;
  operation.to = to;
  operation.bytes = count;
  operation.peer = peer;
  return ask(comm, stream, operation);
}

// Gives the library's result: the root sends to all others.
Result ncclBroadcast(const void* from, void* to, std::size_t count, DataType type, int root, Comm* comm, Stream stream) {
  const int size = comm->end->clique->size, rank = comm->end->rank;
  {
    const std::lock_guard<std::mutex> lock(registry_mutex);
    ++broadcasts;
  }
  note_by_root(*comm->end, {root, count});
  if (rank != root) return ncclRecv(to, count, type, root, comm, stream);
  if (from != to) misused("a broadcast that is not in place");
  Result result = Result::success;
  for (int peer = 0; peer < size && result == Result::success; ++peer) {
    if (peer != root) result = ncclSend(from, count, type, peer, comm, stream);
  }
  return result;
}

// Gives the library's result: all others send to the root, which adds.
Result ncclReduce(const void* from, void* to, std::size_t count, DataType type, Operator, int root, Comm* comm, Stream stream) {
  const int size = comm->end->clique->size, rank = comm->end->rank;
  {
    const std::lock_guard<std::mutex> lock(registry_mutex);
    ++sums;
  }
  const bool floats = type == DataType::fp32;
  if ((!floats && type != DataType::int64) || from != to) misused("a sum of other numbers than int64 and fp32, or not in place");
  const std::size_t bytes = count * (floats ? sizeof(float) : sizeof(std::int64_t));
  note_by_root(*comm->end, {root, bytes});
  if (rank != root) return ncclSend(from, bytes, DataType::uint8, root, comm, stream);
  Operation operation;
  operation.kind = Kind::recv;
  operation.adds = type;
  operation.to = to;
  operation.bytes = bytes;
  Result result = Result::success;
  for (operation.peer = 0; operation.peer < size && result == Result::success; ++operation.peer) {
    if (operation.peer != root) result = ask(comm, stream, operation);
  }
  return result;
}

}  // extern "C"
