// Carries the precompiled headers that the modules reuse.
