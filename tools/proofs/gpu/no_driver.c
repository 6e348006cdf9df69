/* Stands in for the driver's library where there is none, so that cuDNN loads and makes plans for a device that is described to it: there
   is no context, and code that is loaded has handles that nobody looks into. */
#define ABSENT(name) int name(void) { return 100; }  /* no device */
#define TAKEN(name) int name(void) { return 0; }
#define MADE(name) int name(void** made) { *made = (void*)64; return 0; }
ABSENT(cuCtxGetCurrent)
ABSENT(cuCtxGetLimit)
ABSENT(cuCtxPopCurrent)
ABSENT(cuCtxPushCurrent)
ABSENT(cuDeviceGet)
ABSENT(cuDeviceGetCount)
ABSENT(cuGetErrorName)
ABSENT(cuGetErrorString)
ABSENT(cuLaunchCooperativeKernel)
ABSENT(cuLaunchKernel)
ABSENT(cuLaunchKernelEx)
ABSENT(cuLinkAddData)
ABSENT(cuLinkComplete)
ABSENT(cuLinkCreate)
ABSENT(cuLinkDestroy)
ABSENT(cuOccupancyMaxPotentialClusterSize)
ABSENT(cuStreamGetCtx)
TAKEN(cuKernelSetAttribute)
TAKEN(cuLibraryUnload)
TAKEN(cuModuleUnload)
TAKEN(cuTensorMapEncodeIm2col)
TAKEN(cuTensorMapEncodeTiled)
MADE(cuKernelGetFunction)
MADE(cuLibraryGetKernel)
MADE(cuLibraryLoadData)
MADE(cuLibraryLoadFromFile)
MADE(cuModuleGetFunction)
MADE(cuModuleLoadData)
int cuKernelGetAttribute(int* value) { return *value = 0; }
int cuDriverGetVersion(int* version) { *version = 12090; return 0; }
