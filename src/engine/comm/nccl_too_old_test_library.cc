// A libnccl that says it is 2.21.5. It needs nothing else: the version is looked at first.
extern "C" int ncclGetVersion(int* version) {
  *version = 22105;
  return 0;
}
