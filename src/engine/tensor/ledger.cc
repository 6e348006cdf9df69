#include "tensor/ledger.h"

#include <memory>
#include <utility>

#include "base/cause.h"
#include "base/error.h"
#include "base/say.h"
#include "base/units.h"

namespace troika::tensor {
namespace {

base::Text name(MemoryUse use) {
  constexpr std::array names = {base::Phrase("parameters"), base::Phrase("gradients"), base::Phrase("optimizer state"),
                                base::Phrase("activations"), base::Phrase("what is saved")};
  return base::say(names[static_cast<std::size_t>(use)]);
}

class BookedMemory : public Memory {
 public:
  BookedMemory(std::shared_ptr<const Memory> memory, Ledger& ledger, MemoryUse use, std::int64_t bytes)
      : Memory(memory->data(), memory->bytes(), memory->device()),
        memory_(std::move(memory)),
        ledger_(ledger),
        use_(use),
        booked_bytes_(bytes) {
    ledger_.hold(use_, booked_bytes_);
  }
  ~BookedMemory() override { ledger_.release(use_, booked_bytes_); }

 private:
  const std::shared_ptr<const Memory> memory_;
  Ledger& ledger_;
  const MemoryUse use_;
  const std::int64_t booked_bytes_;
};

// `allocate` gives the memory of so many bytes.
template <class Allocate>
Tensor booked(std::int64_t elements, Dtype dtype, Ledger& ledger, MemoryUse use, const Allocate& allocate) {
  const std::int64_t bytes = elements * base::bytes_of(dtype);
  try {
    return Tensor(std::make_shared<BookedMemory>(allocate(bytes), ledger, use, bytes), 0, dtype, {elements}, {1});
  } catch (const OutOfMemory&) {
    throw base::ConfigError(
        base::say("out of memory: cannot allocate {} of {} besides the {} that this rank already uses; use --zero 3 over more ranks, --offload file, fewer layers, a smaller --model.hidden, or more stages (--pp)",
                    base::format_bytes(bytes), name(use), base::format_bytes(ledger.live())),
                        base::Cause::out_of_memory);
  }
}

}  // namespace

Tensor booked_empty(std::int64_t elements, Dtype dtype, const Device& device, Ledger& ledger, MemoryUse use) {
  if (elements == 0) return empty({0}, {dtype, device});
  return booked(elements, dtype, ledger, use,
                [&](std::int64_t bytes) { return allocate(static_cast<std::size_t>(bytes), device); });
}

Tensor booked_host_tensor(std::int64_t elements, Dtype dtype, Streams& streams, Ledger& ledger, MemoryUse use) {
  if (elements == 0) return empty({0}, dtype);
  return booked(elements, dtype, ledger, use,
                [&](std::int64_t) { return streams.new_host_tensor({elements}, dtype).memory(); });
}

}  // namespace troika::tensor
