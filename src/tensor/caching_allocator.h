// Where the memory of CPU tensors comes from.
#pragma once

namespace troika::tensor {

// From now on the memory of every new CPU tensor of the process comes, aligned to 64 bytes, from the C library, or from 64 KiB
// on from a PageCache, which keeps it when the tensor goes. Without it the C library maps and unmaps large tensors each time.
// The C library keeps up to 16 MiB at the end of its heap, too.
// libtorch has one such place per process, so this is for programs: call it once, before other threads use tensors. Out of
// memory is a c10::Error with the words "can't allocate memory". In builds with a sanitizer it does nothing, so that
// accesses beside a tensor are found.
void use_caching_allocator();

}  // namespace troika::tensor
