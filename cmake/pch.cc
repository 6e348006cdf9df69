// Carries the precompiled header that every libtorch room reuses.
