// NCCL's C interface as far as it is used here, loaded when the program runs. The declarations are our own, so that
// every build has them; they follow nccl.h, whose functions keep their form within version 2.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace troika::comm::nccl {

inline constexpr const char* usual_library = "libnccl.so.2";

// From here on groups of calls on different communicators of one thread may be under way at the same time, each in the
// background (older ones refuse the second), and an abort may come from another thread. torch 2.10 and later bring it.
inline constexpr int least_version = 22800;

struct Comm;           // ncclComm
using Stream = void*;  // cudaStream_t

enum class Result : int {
  success = 0,
  cuda_error = 1,
  system_error = 2,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6,
  in_progress = 7,
};
enum class DataType : int { uint8 = 1, int64 = 4, fp32 = 7 };
enum class Operator : int { sum = 0 };

struct UniqueId {
  char bytes[128];
};

inline constexpr int undefined = INT32_MIN;  // the library decides

// ncclConfig_t of version 2.17. The library takes as many members as `size` says and has defaults for younger ones.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21700;
  int blocking = undefined;
  int cga_cluster_size = undefined;
  int min_ctas = undefined;  // thread blocks of one operation
  int max_ctas = undefined;
  const char* net_name = nullptr;
};
static_assert(sizeof(void*) != 8 || (offsetof(Config, blocking) == 16 && sizeof(Config) == 40));

// Each with its symbol. All ranks call broadcast and reduce; of broadcast `from` matters at the root, of reduce `to`.
#define TROIKA_NCCL_FUNCTIONS(X)                                                                                       \
  X(Result, get_version, ncclGetVersion, (int* version))                                                               \
  X(Result, get_unique_id, ncclGetUniqueId, (UniqueId * id))                                                           \
  X(Result, comm_init_rank_config, ncclCommInitRankConfig,                                                             \
    (Comm * *made, int size, UniqueId id, int rank, Config* config))                                                   \
  X(Result, comm_get_async_error, ncclCommGetAsyncError, (Comm * comm, Result * error))                                \
  X(Result, comm_abort, ncclCommAbort, (Comm * comm))                                                                  \
  X(Result, comm_destroy, ncclCommDestroy, (Comm * comm))                                                              \
  X(const char*, get_error_string, ncclGetErrorString, (Result result))                                                \
  X(const char*, get_last_error, ncclGetLastError, (Comm * comm))                                                      \
  X(Result, group_start, ncclGroupStart, ())                                                                           \
  X(Result, group_end, ncclGroupEnd, ())                                                                               \
  X(Result, send, ncclSend, (const void* from, std::size_t count, DataType type, int peer, Comm* comm, Stream stream)) \
  X(Result, recv, ncclRecv, (void* to, std::size_t count, DataType type, int peer, Comm* comm, Stream stream))         \
  X(Result, broadcast, ncclBroadcast,                                                                                  \
    (const void* from, void* to, std::size_t count, DataType type, int root, Comm* comm, Stream stream))               \
  X(Result, reduce, ncclReduce,                                                                                        \
    (const void* from, void* to, std::size_t count, DataType type, Operator with, int root, Comm* comm,                \
     Stream stream))

struct Api {
  int version = 0;  // 22809: 2.28.9
#define TROIKA_NCCL_MEMBER(result, name, symbol, arguments) result(*name) arguments = nullptr;
  TROIKA_NCCL_FUNCTIONS(TROIKA_NCCL_MEMBER)
#undef TROIKA_NCCL_MEMBER
};

std::string version_text(int version);  // "2.28.9" of 22809

// `library`: a file's path, or a name that the dynamic linker looks for; a library that the program has already loaded
// under that name is taken. It stays loaded. Throws ConfigError when it or a function is missing, or when it is too
// old.
std::shared_ptr<const Api> load(const std::string& library);

}  // namespace troika::comm::nccl
