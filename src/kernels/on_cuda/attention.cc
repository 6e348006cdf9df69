#include "kernels/on_cuda/on_cuda.h"
