#include "comm/nccl_test_support.h"

#include <dlfcn.h>

#include <exception>
#include <thread>
#include <utility>

namespace troika::comm {

std::string nccl_stand_in() { return std::string(TROIKA_BINARY_DIR) + "/libcomm_nccl_stand_in.so"; }
template <class Function>
static Function* of_stand_in(const char* name) {
  return reinterpret_cast<Function*>(dlsym(dlopen(nccl_stand_in().c_str(), RTLD_NOW | RTLD_LOCAL), name));
}

int asked_max_ctas(int size) { return of_stand_in<int(int)>("standInMaxCtas")(size); }
int asked_broadcasts() { return of_stand_in<int()>("standInBroadcasts")(); }
int asked_sums() { return of_stand_in<int()>("standInSums")(); }

std::string nccl_too_old() { return std::string(TROIKA_BINARY_DIR) + "/libcomm_nccl_too_old.so"; }

std::unique_ptr<NcclTransport> make_nccl_transport(const NcclRanks& ranks, int rank, std::shared_ptr<tensor::Streams> streams,
                                                   const NcclRanksOptions& options) {
  rendezvous::Identity me;
  me.world_rank = rank;
  me.world_size = ranks.size;
  me.store_port = ranks.server->port();
  NcclSettings settings;
  settings.library = nccl_stand_in();
  settings.timeout_seconds = options.deadline_seconds;
  settings.abort_seconds = options.abort_seconds;
  return std::make_unique<NcclTransport>(me, settings, std::move(streams));
}

NcclRanks make_nccl_ranks(int size, const NcclRanksOptions& options) {
  NcclRanks ranks;
  ranks.size = size;
  ranks.server = std::make_shared<rendezvous::StoreServer>(0);
  const auto machine = tensor::make_fake_machine(options.seed, 30);
  std::vector<int> members;
  for (int rank = 0; rank < size; ++rank) members.push_back(rank);
  for (int rank = 0; rank < size; ++rank) {
    const std::shared_ptr<tensor::FakeStreams> device = tensor::make_fake_streams(machine);
    ranks.transports.push_back(
        make_nccl_transport(ranks, rank, options.streams ? options.streams(rank, device) : device, options));
    ranks.channels.push_back(ranks.transports.back()->group("world", members));
    ranks.devices.push_back(device);
    device->while_standing([channel = ranks.channels.back().get()] { channel->check(); });
  }
  return ranks;
}

void run_nccl_ranks(NcclRanks& ranks, const std::function<void(NcclChannel&)>& body) {
  std::vector<std::exception_ptr> errors(ranks.channels.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks.channels.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(*ranks.channels[rank]);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

}  // namespace troika::comm
