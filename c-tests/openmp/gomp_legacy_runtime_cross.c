/* The loops of gcc before 9 under two-level dynamic scheduling, which must not send a thread back to its node's pool
   (gcc's ABI; OpenMP 5.1, 2.11.4).
   hetmp-test: env=HETMP_NODES=2
   hetmp-test: env=HETMP_SCHEDULE=cross-dynamic */
#include "gomp_legacy_runtime.c"
