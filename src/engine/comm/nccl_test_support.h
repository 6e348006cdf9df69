// Ranks as threads with fake devices, and channels between them over the stand-in for NCCL.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/nccl_channel.h"
#include "rendezvous/store.h"
#include "tensor/fake_streams_test_support.h"

namespace troika::comm {

struct NcclRanksOptions {
  double deadline_seconds = 20;
  std::uint64_t seed = 1;  // of the devices' lateness
  double abort_seconds = 20;
  // The streams that a rank's channel is given instead of its device.
  std::function<std::shared_ptr<tensor::Streams>(int rank, std::shared_ptr<tensor::FakeStreams> device)> streams =
      nullptr;
};

// Members are destroyed from the last to the first: the channels before the store.
struct NcclRanks {
  int size = 0;
  std::shared_ptr<rendezvous::StoreServer> server;
  std::vector<std::shared_ptr<tensor::FakeStreams>> devices;
  std::vector<std::unique_ptr<NcclTransport>> transports;
  std::vector<std::unique_ptr<NcclChannel>> channels;  // of a group "world" with all ranks
};
NcclRanks make_nccl_ranks(int size, const NcclRanksOptions& options = {});
// The transport of one of these ranks.
std::unique_ptr<NcclTransport> make_nccl_transport(const NcclRanks& ranks, int rank, std::shared_ptr<tensor::Streams> streams,
                                                   const NcclRanksOptions& options);

std::string nccl_stand_in();  // the library's path
// Requests to the stand-in: by the last communicator of so many ranks; by all communicators so far.
int asked_max_ctas(int size);
int asked_broadcasts();
int asked_sums();
std::string nccl_too_old();

// `body` on a thread per rank, as run_ranks.
void run_nccl_ranks(NcclRanks& ranks, const std::function<void(NcclChannel&)>& body);

}  // namespace troika::comm
