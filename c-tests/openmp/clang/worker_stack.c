/* The stacks of libomp's workers (`proc_worker_stack.c`).
   hetmp-test: threads=2
   hetmp-test: libs=-lpthread */
#include "../proc_worker_stack.c"
