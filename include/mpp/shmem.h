/* The deprecated place of shmem.h (OpenSHMEM 1.5, annex "Deprecated API"). */
#include <shmem.h>
