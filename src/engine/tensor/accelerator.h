// The interface of tensors and kernels to a device other than the host. A back end implements it (module gpu for
// NVIDIA's). Unless stated, work is queued on the compute lane (tensor/streams.h) of the tensors' device; any thread
// may queue kernels and operations on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/language.h"
#include "base/exact_math.h"
#include "tensor/device.h"
#include "tensor/memory.h"

namespace troika::tensor {

class Streams;
class Tensor;

// A kernel of the device's code by the symbol of its entry, which lives as long as the program.
struct KernelCall {
  const char* entry = nullptr;
  std::int64_t blocks = 0;
  int threads = 0;                  // of a block
  const void* argument = nullptr;  // its only one, read before the call returns
};

enum class Sum { replaced, added };

// The keys of S that a query of T sees: all, or those up to its own position, where the last query sees all.
enum class AttentionMask { none, causal };
using base::Repeatable;

// Bytes of a device's memory that this process holds: what its tensors take, and what is kept for them.
// Peaks: since the first use, or begin_peaks().
struct PoolBytes {
  std::int64_t used = 0, used_peak = 0, reserved = 0, reserved_peak = 0;
};

// Attention of all queries of B sequences over all their keys; query head i reads key/value head i / (n / k). Strided views, the last
// dimension contiguous. The scores are multiplied by 1 / sqrt(H).
struct AttentionOperands {
  const Tensor &q_BTnH, &k_BSkH, &v_BSkH;
  AttentionMask mask = AttentionMask::none;
};

// The algorithm that was fastest for products of one kind.
struct ProductChoice {
  std::string kind;       // begins with the type of the device and the version of its library, then types, sizes, strides
  std::string algorithm;  // for the library
};

class Accelerator {
 public:
  virtual ~Accelerator() = default;
  virtual int devices() const = 0;
  virtual GpuTraits traits(const Device& device) = 0;
  virtual std::int64_t free_bytes(const Device& device) = 0;
  virtual PoolBytes memory(const Device& device) = 0;
  virtual void begin_peaks(const Device& device) = 0;  // from now on, when what is kept and not used has gone back to the device
  virtual std::shared_ptr<Memory> allocate(std::size_t bytes, const Device& device) = 0;  // OutOfMemory
  virtual std::unique_ptr<Streams> make_streams(const Device& device) = 0;                // for one rank's thread
  virtual void synchronize(const Device& device) = 0;

  virtual void launch(const Device& device, const KernelCall& call) = 0;

  // out = a b + bias + plus, both of which may be undefined: matrices [M, K], [K, N] and [M, N], or as many of them
  // ([b, M, K], ...). Of each, rows or columns are contiguous. a, b and bias (N) have one dtype, out that one or fp32. plus has
  // the sizes and the dtype of out and may be out itself; elsewhere it is stored in the same order of rows and columns. Sums are
  // in fp32, rounded once.
  virtual void multiply(const Tensor& a, const Tensor& b, const Tensor& out, const Tensor& bias, const Tensor& plus) = 0;

  // Attention by a library that keeps no scores, into contiguous tensors: out as q, lse_BnT in fp32, gradients as q, k and v; dout and
  // out are contiguous, in q's dtype. False where there is none that does it: nothing is queued then.
  virtual bool attend(const AttentionOperands& /*of*/, const Tensor& /*out_BTnH*/, const Tensor& /*lse_BnT*/) { return false; }
  virtual bool attend_backward(const AttentionOperands& /*of*/, const Tensor& /*dout_BTnH*/, const Tensor& /*out_BTnH*/,
                               const Tensor& /*lse_BnT*/, const Tensor& /*dq_BTnH*/, const Tensor& /*dk_BSkH*/,
                               const Tensor& /*dv_BSkH*/) {
    return false;
  }
  // Why attend() and attend_backward() will not do attention of these sizes and types; empty: they will.
  virtual base::Text attention_lacks(const AttentionOperands& of) = 0;
  // Sets whether attend_backward is repeatable, from now on.
  virtual void set_repeatable(Repeatable /*repeatable*/) {}

  // From now on products of the kinds in `choices` take the algorithms there, all others what the library recommends. Returns
  // how many were made on a device of this type with this version of the library; those of others change nothing.
  virtual std::size_t use_products(const Device&, const std::vector<ProductChoice>& /*choices*/) { return 0; }
  // Calls `passes`, whose products serve nobody: those of a kind without a choice are computed several times with each of some
  // algorithms, added sums as often, and the fastest is the kind's choice. Returns all choices in use. A device whose library
  // has one algorithm has none.
  virtual std::vector<ProductChoice> measure_products(const Device&, const std::function<void()>& passes) {
    passes();
    return {};
  }

  // The small operations of operations.h and Tensor, of tensors on one device; `copy` also from and to the host, where it returns
  // when it is done.
  virtual void copy(const Tensor& to, const Tensor& from) = 0;
  virtual void fill(const Tensor& x, double value) = 0;
  virtual void add(const Tensor& sum, const Tensor& x, double scale) = 0;  // of the same sizes
  virtual void multiply(const Tensor& x, double factor) = 0;
  virtual void gather_rows(const Tensor& to, const Tensor& from, const Tensor& index_r) = 0;
  virtual void scatter_rows(const Tensor& to, const Tensor& index_r, const Tensor& from) = 0;
  virtual void add_rows(const Tensor& sum, const Tensor& index_r, const Tensor& x) = 0;
};

}  // namespace troika::tensor
