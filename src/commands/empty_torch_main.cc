// Does nothing, but is linked to libtorch: what the tests compare the start of `troika train` with.
int main() { return 0; }
