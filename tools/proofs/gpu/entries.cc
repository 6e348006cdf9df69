// The entry of every kernel as the program looks for it, a line each (tools/proofs/gpu.sh compares them with device code).
#include <cstdio>

#include "cuda/dispatch.h"
#include "cuda/every_kernel.h"

template <class Kernel>
struct Printed {
  Printed() { std::puts(troika::cuda::entry_of<Kernel>()); }
  void touch() const {}
  static const Printed one;
};
template <class Kernel>
const Printed<Kernel> Printed<Kernel>::one;

struct Print {
  template <class Kernel>
  void operator()(const Kernel&) const {
    Printed<Kernel>::one.touch();  // makes it an instance, whether this is called or not
  }
};

int main() {
  troika::cuda::every_kernel(Print());
  return 0;
}
