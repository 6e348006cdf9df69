// The functions of libgomp that control the threads of Debian's oneDNN. Declared here, so that a compiler
// with another OpenMP, or with none, asks the same library.
#pragma once

#ifdef TROIKA_WITH_OPENMP
extern "C" {
void omp_set_num_threads(int threads);
int omp_get_num_places();
int omp_get_place_num_procs(int place);
void omp_get_place_proc_ids(int place, int* numbers);
}
#endif
