// Kernels (block.h) by name: device code is made of one entry for each, and whoever loads it finds the entry of a kernel
// by its type. Also what it takes to queue one.
#pragma once

#include <string>
#include <typeinfo>

namespace troika::cuda {

// The symbol of `void troika_kernel<Kernel>(Kernel)` for a kernel of this type, as the C++ ABI of Linux spells it: what
// nvcc calls the entry (kernels.cu).
std::string entry_symbol(const std::type_info& kernel);

template <class Kernel>
const char* entry_of() {
  static const std::string symbol = entry_symbol(typeid(Kernel));
  return symbol.c_str();
}

}  // namespace troika::cuda
